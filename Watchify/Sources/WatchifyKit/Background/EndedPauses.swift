import Foundation

/// Finds the pauses that were ended early, for example by `watchify resume` in another process.
struct EndedPauses {
  private var known: [RequestGate.Rest] = []
  /// The addresses of the stores whose pause was ended early and that are still to be synced.
  var ended: [String] = []
  /// Whether any pause is in effect.
  var isWatching: Bool { !known.isEmpty }

  /// Reads the pauses again and adds to `ended`. Returns whether the pause of all stores was ended early.
  mutating func look(_ service: StoreService) async -> Bool {
    guard let now = try? await service.rests() else { return false }
    let time = service.now()
    let gone = known.filter { old in old.until > time && !now.contains { $0.shop == old.shop } }
    known = now
    ended += gone.compactMap { $0.shop?.domain }
    return gone.contains { $0.shop == nil }
  }
}
