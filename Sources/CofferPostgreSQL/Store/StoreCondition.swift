import CofferCore

/// The availability of a store: whether its server can be used, and whether the store is there.
final class StoreCondition: Sendable {
  private struct State {
    var server = StoreAvailability.available
    /// Why the store cannot be read although the server answers; `nil` if it can.
    var loss: String?

    var whole: StoreAvailability {
      let isUsable = server.isUsable
      return loss.flatMap { isUsable ? .unavailable(reason: $0) : nil } ?? server
    }
  }

  let availability: AvailabilityFeed
  private let state = Locked(State())

  init(_ availability: AvailabilityFeed) { self.availability = availability }

  /// Whether the store was gone at the last look.
  var isLost: Bool { state.withLock { $0.loss != nil } }

  /// Notes whether the server can be used.
  func note(_ server: StoreAvailability) { update { $0.server = server } }

  /// Notes that the store is gone, or that the role may not read it any more.
  func lose(_ reason: String) { update { $0.loss = reason } }

  /// Notes that the store is there again.
  func find() { update { $0.loss = nil } }

  private func update(_ change: (inout State) -> Void) {
    state.withLock { change(&$0) }
    availability.set { state.withLock { $0.whole } }
  }
}
