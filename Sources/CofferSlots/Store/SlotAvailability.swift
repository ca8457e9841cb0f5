import CofferCore
import CofferLocks
import Foundation

/// Knows whether a home can be used, tells subscribers, and takes in what has changed in it once it can be again.
final class SlotAvailability: Sendable {
  private struct State {
    var home = StoreAvailability.available
    var journal = StoreAvailability.available
    var isLooking = false
    var mustLookAgain = false
    var isLookScheduled = false
    /// Whether a look at what has changed in the home has failed, so that it must be taken again.
    var hasMissed = false
    var isEnded = false

    var whole: StoreAvailability { journal == .available || (journal.isUsable && !home.isUsable) ? home : journal }
  }

  /// How often a home that is away is asked whether it is back, in milliseconds. Most tell by themselves.
  private static let interval = 1_000

  private let slots: any Slots
  private let queue: DispatchQueue
  private let feed: AvailabilityFeed
  private let state = Locked(State())
  private let recovered: @Sendable () -> Void

  /// - Parameters:
  ///   - slots: the home.
  ///   - present: what it has said just now.
  ///   - queue: where it is asked again.
  ///   - recovered: called when the home can be used again.
  init(
    _ slots: any Slots, _ present: StoreAvailability, queue: DispatchQueue, recovered: @escaping @Sendable () -> Void
  ) {
    self.slots = slots
    self.queue = queue
    self.recovered = recovered
    feed = AvailabilityFeed(present)
    state.withLock { $0.home = present }
    if !present.isUsable { lookLater() }
  }

  func subscribe() -> AsyncStream<StoreAvailability> { feed.subscribe() }

  /// The journal's own part: without it the home is no store.
  func follow(_ journal: AsyncStream<StoreAvailability>) {
    Task { [weak self] in
      for await availability in journal { self?.set { $0.journal = availability } }
    }
  }

  func end() {
    state.withLock { $0.isEnded = true }
    feed.finish()
  }

  /// Asks the home soon.
  func look() {
    let mustStart = state.withLock { state in
      guard !state.isEnded else { return false }
      defer { state.isLooking = true }
      if state.isLooking { state.mustLookAgain = true }
      return !state.isLooking
    }
    if mustStart { queue.async { [weak self] in self?.lookNow() } }
  }

  /// A look at what has changed has failed: it is taken again when the home can be used, at the earliest in a moment.
  func miss() {
    let isFirst = state.withLock { state in
      defer { state.hasMissed = true }
      return !state.hasMissed
    }
    if isFirst { lookLater() }
  }

  /// One timer, however often the home was found away.
  private func lookLater() {
    let mustStart = state.withLock { state in
      defer { state.isLookScheduled = true }
      return !state.isLookScheduled && !state.isEnded
    }
    guard mustStart else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(Self.interval)) { [weak self] in
      self?.state.withLock { $0.isLookScheduled = false }
      self?.look()
    }
  }

  private func lookNow() {
    let present = slots.availability()
    set(asked: true) { $0.home = present }
    let mustLookAgain = state.withLock { state in
      defer { (state.mustLookAgain, state.isLooking) = (false, false) }
      return state.mustLookAgain
    }
    // Questions that came meanwhile are answered by the next look: a home that is away is not asked more often.
    if !present.isUsable { lookLater() } else if mustLookAgain { look() }
  }

  private func set(asked: Bool = false, _ change: (inout State) -> Void) {
    let (isBack, present) = state.withLock { state in
      let before = state.whole
      change(&state)
      let present = state.whole
      // Told under the lock, so that two changes are told in their order.
      if !state.isEnded { feed.set(present) }
      let isBack = !before.isUsable || (asked && state.hasMissed)
      if present.isUsable, isBack { state.hasMissed = false }
      return (isBack, present)
    }
    if isBack, present.isUsable { recovered() }
  }
}
