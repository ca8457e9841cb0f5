import CofferCore
import Foundation

/// The availability of a store. It notifies subscribers, and starts reconciliation once the store can be used again.
final class SlotAvailability: Sendable {
  private struct State {
    var handle = StoreAvailability.available
    var journal = StoreAvailability.available
    var isChecking = false
    var mustCheckAgain = false
    var isLookScheduled = false
    /// Whether a reconciliation has failed because the store was unavailable and must be repeated.
    var hasMissed = false
    var isEnded = false

    var whole: StoreAvailability { journal == .available || (journal.isUsable && !handle.isUsable) ? handle : journal }
  }

  /// The interval, in milliseconds, at which an unavailable store is polled. Most stores report changes themselves.
  private static let interval = 1_000

  private let slots: any Slots
  private let queue: DispatchQueue
  private let feed: AvailabilityFeed
  private let state = Locked(State())
  private let recovered: @Sendable () -> Void

  /// - Parameters:
  ///   - slots: the underlying store.
  ///   - present: its availability at present.
  ///   - events: told each change; none if `nil`.
  ///   - name: the name of the store in events.
  ///   - queue: the queue on which it is polled.
  ///   - recovered: called when the store can be used again.
  init(
    _ slots: any Slots, _ present: StoreAvailability, telling events: CofferEvents?, name: String,
    queue: DispatchQueue, recovered: @escaping @Sendable () -> Void
  ) {
    self.slots = slots
    self.queue = queue
    self.recovered = recovered
    feed = AvailabilityFeed(present, events: events, location: name)
    state.withLock { $0.handle = present }
    if !present.isUsable { checkLater() }
  }

  func subscribe() -> AsyncStream<StoreAvailability> { feed.subscribe() }

  /// Follows the availability of the journal, without which the store cannot be used.
  func follow(_ journal: AsyncStream<StoreAvailability>) {
    Task { [weak self] in
      for await availability in journal { self?.set { $0.journal = availability } }
    }
  }

  func end() {
    state.withLock { $0.isEnded = true }
    feed.finish()
  }

  /// Schedules a check of the store's availability.
  func check() {
    let mustStart = state.withLock { state in
      guard !state.isEnded else { return false }
      defer { state.isChecking = true }
      if state.isChecking { state.mustCheckAgain = true }
      return !state.isChecking
    }
    if mustStart { queue.async { [weak self] in self?.checkNow() } }
  }

  /// Records a failed reconciliation. It is repeated when the store can be used, at the earliest after one interval.
  func miss() {
    let isFirst = state.withLock { state in
      defer { state.hasMissed = true }
      return !state.hasMissed
    }
    if isFirst { checkLater() }
  }

  /// Schedules the next poll unless one is scheduled already.
  private func checkLater() {
    let mustStart = state.withLock { state in
      defer { state.isLookScheduled = true }
      return !state.isLookScheduled && !state.isEnded
    }
    guard mustStart else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(Self.interval)) { [weak self] in
      self?.state.withLock { $0.isLookScheduled = false }
      self?.check()
    }
  }

  private func checkNow() {
    let present = slots.availability()
    set(asked: true) { $0.handle = present }
    let mustCheckAgain = state.withLock { state in
      defer { (state.mustCheckAgain, state.isChecking) = (false, false) }
      return state.mustCheckAgain
    }
    // An unavailable store is polled at its interval only, even if checks were requested meanwhile.
    if !present.isUsable { checkLater() } else if mustCheckAgain { check() }
  }

  private func set(asked: Bool = false, _ change: (inout State) -> Void) {
    let (isBack, present) = state.withLock { state in
      let before = state.whole
      change(&state)
      let present = state.whole
      let isBack = !before.isUsable || (asked && state.hasMissed)
      if present.isUsable, isBack { state.hasMissed = false }
      return (isBack, present)
    }
    feed.set { state.withLock { $0.whole } }
    if isBack, present.isUsable { recovered() }
  }
}
