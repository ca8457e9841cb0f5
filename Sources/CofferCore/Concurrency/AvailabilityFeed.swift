/// Delivers the current availability of a store to any number of subscribers, then each change.
package struct AvailabilityFeed: Sendable {
  private let feed: LatestValueFeed<StoreAvailability>
  private let events: CofferEvents?
  private let location: String

  /// Creates a feed that tells `events` each change, and a state at the beginning that is not `available`.
  package init(_ present: StoreAvailability = .available, events: CofferEvents? = nil, location: String = "") {
    feed = LatestValueFeed(present)
    (self.events, self.location) = (events, location)
    if present != .available { events?.emitLater(location, .availabilityChanged(present)) }
  }

  /// Returns the availability stream of a closed handle: one unavailable state, then the end.
  package static func closed() -> AsyncStream<StoreAvailability> {
    let feed = AvailabilityFeed()
    feed.finish()
    return feed.subscribe()
  }

  package func subscribe() -> AsyncStream<StoreAvailability> { feed.subscribe() }

  package var hasSubscribers: Bool { feed.hasSubscribers }

  package func set(_ availability: StoreAvailability) { set { availability } }

  /// Delivers what a closure returns. It is called under the lock of the feed, so that of two callers the later one
  /// decides.
  package func set(_ availability: () -> StoreAvailability) {
    // Under the lock of the feed, so that changes are told in their order.
    feed.set(availability) { events?.emitLater(location, .availabilityChanged($0)) }
  }

  /// Ends all streams after a last, unavailable state, which later subscribers also receive.
  package func finish() {
    feed.finish(with: .unavailable(reason: "The store was closed."))
  }
}
