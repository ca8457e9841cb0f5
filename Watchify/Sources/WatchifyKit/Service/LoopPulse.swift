import CofferCore

/// The progress of a loop: each step states by when the next one begins.
///
/// A watchdog that is fed by a timer proves only that the timer works. This one is fed while the loop keeps its own
/// deadlines. They are measured without the time in which the device is suspended, like the watchdog of systemd.
public final class LoopPulse: Sendable {
  /// The pulse of the loop that the current task belongs to.
  @TaskLocal static var current: LoopPulse?

  private let deadline: Locked<SuspendingClock.Instant?>

  /// Creates the pulse of a loop that has a minute to begin.
  public init() { deadline = Locked(SuspendingClock.now + .seconds(60)) }

  /// Whether the loop is within the time that its last step stated.
  public var isOnTime: Bool { deadline.withLock { $0.map { SuspendingClock.now <= $0 } ?? true } }

  /// Begins a step.
  /// - Parameter time: the longest time until the next one begins; `nil` if it waits for something that may never
  ///   happen.
  public func step(within time: Duration?) {
    deadline.withLock { $0 = time.map { SuspendingClock.now + $0 } }
  }
}
