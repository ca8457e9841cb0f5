public import Foundation

/// A long task whose state is delivered while it runs: as a stream of the latest state and as `Foundation.Progress`.
///
/// ```swift
/// let rotation = try await engine.rotate()
/// for await state in rotation.updates { show(state.values, of: state.totalValues) }
/// let report = try await rotation.result()
/// ```
///
/// It continues if this object is released, and ends with the process. Interrupted at any point, the next one continues
/// it.
public final class ObservedTask<State: Sendable, Success: Sendable>: Sendable {
  /// The same progress for user interfaces of Foundation. Cancelling it cancels the task.
  public let progress = Progress(totalUnitCount: 0)
  private let states: LatestValueFeed<State>
  package let units: @Sendable (State) -> (completed: Int, total: Int)
  private let task = Locked<Task<Success, any Error>?>(nil)

  /// Creates a task that has not been started.
  /// - Parameters:
  ///   - state: the state before its first change.
  ///   - units: the units of ``progress`` in a state. A total below the completed units counts as these.
  package init(_ state: State, units: @escaping @Sendable (State) -> (completed: Int, total: Int)) {
    states = LatestValueFeed(state)
    self.units = units
  }

  /// Starts the task. Called once.
  /// - Parameter work: the task, which receives this object to update the state.
  /// - Returns: this object.
  @discardableResult
  package func start(_ work: @escaping @Sendable (ObservedTask) async throws -> Success) -> ObservedTask {
    let task = Task { [self] in
      defer { states.finish() }
      return try await work(self)
    }
    self.task.withLock { $0 = task }
    progress.cancellationHandler = { task.cancel() }
    return self
  }

  /// A new stream of the state: the present one, then the latest one after each change, until the end.
  public var updates: AsyncStream<State> { states.subscribe() }

  /// Waits for the end, and returns the result. Cancelling the waiting task does not cancel this one.
  /// - Throws: the error of the task; `CancellationError` after ``cancel()``.
  public func result() async throws -> Success {
    guard let task = task.withLock({ $0 }) else { throw CancellationError() }
    return try await task.value
  }

  /// Ends the task after its present step.
  public func cancel() { task.withLock { $0 }?.cancel() }

  /// Changes the state and delivers it.
  package func update(_ change: (inout State) -> Void) {
    let units = units(states.update(change))
    // Not under the lock: observers of the progress may use this object.
    progress.totalUnitCount = Int64(max(units.total, units.completed))
    progress.completedUnitCount = Int64(units.completed)
  }
}
