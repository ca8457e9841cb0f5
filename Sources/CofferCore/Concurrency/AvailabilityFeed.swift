import CofferLocks

/// Delivers the current availability of a store to any number of subscribers, then each change.
package final class AvailabilityFeed: Sendable {
  private struct State {
    var present: StoreAvailability
    var subscribers: [UInt64: AsyncStream<StoreAvailability>.Continuation] = [:]
    var nextID: UInt64 = 0
    var isFinished = false
  }

  private let state: Locked<State>
  private let events: CofferEvents?
  private let location: String

  /// Creates a feed that tells `events` each change, and a state at the beginning that is not `available`.
  package init(_ present: StoreAvailability = .available, events: CofferEvents? = nil, location: String = "") {
    state = Locked(State(present: present))
    (self.events, self.location) = (events, location)
    if present != .available { events?.tellLater(location, .availabilityChanged(present)) }
  }

  /// Returns the availability stream of a closed handle: one unavailable state, then the end.
  package static func closed() -> AsyncStream<StoreAvailability> {
    let feed = AvailabilityFeed()
    feed.finish()
    return feed.subscribe()
  }

  package func subscribe() -> AsyncStream<StoreAvailability> {
    // A slow subscriber needs only the newest state.
    let (stream, continuation) = AsyncStream.makeStream(
      of: StoreAvailability.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state -> UInt64? in
      continuation.yield(state.present)
      guard !state.isFinished else { return nil }
      state.nextID += 1
      state.subscribers[state.nextID] = continuation
      return state.nextID
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
    }
    return stream
  }

  package var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

  package func set(_ availability: StoreAvailability) { set(availability, isTold: true) }

  private func set(_ availability: StoreAvailability, isTold: Bool) {
    let subscribers = state.withLock { state -> [AsyncStream<StoreAvailability>.Continuation] in
      guard state.present != availability else { return [] }
      state.present = availability
      // Under the lock, so that changes are told in their order.
      if isTold, !state.isFinished { events?.tellLater(location, .availabilityChanged(availability)) }
      return Array(state.subscribers.values)
    }
    for subscriber in subscribers { subscriber.yield(availability) }
  }

  /// Ends all streams after a last, unavailable state, which later subscribers also receive.
  package func finish() {
    set(.unavailable(reason: "The store was closed."), isTold: false)
    let subscribers = state.withLock { state in
      state.isFinished = true
      defer { state.subscribers.removeAll() }
      return Array(state.subscribers.values)
    }
    for subscriber in subscribers { subscriber.finish() }
  }
}
