import Foundation

/// Finds the pauses that somebody has ended before their time, as `watchify resume` in another process does.
struct EndedPauses {
  private var known: [RequestGate.Rest] = []
  /// The addresses of stores whose pause has ended so.
  var ended: [String] = []
  /// Whether there are pauses that may be ended.
  var isWatching: Bool { !known.isEmpty }

  /// Looks at the pauses again; says whether that of all stores has ended.
  mutating func look(_ service: StoreService) async -> Bool {
    guard let now = try? await service.rests() else { return false }
    let time = service.now()
    let gone = known.filter { old in old.until > time && !now.contains { $0.shop == old.shop } }
    known = now
    ended += gone.compactMap { $0.shop?.domain }
    return gone.contains { $0.shop == nil }
  }
}
