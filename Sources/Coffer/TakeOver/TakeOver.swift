import CofferCore
public import Foundation

/// A running take-over: values of another library are stored in batches, while any process uses the store.
///
/// ```swift
/// let run = engine.takeOver(from: .files(directory: path, encoding: .json))
/// for await state in run.updates { show(state.values, of: state.totalValues) }
/// let report = try await run.result()
/// ```
///
/// It continues if this object is released, and ends with the process. Interrupted at any point, the next one continues
/// it: what the store has is recognized by its bytes.
public final class TakeOver: Sendable {
  private let task = ObservedTask<TakeOver.State, TakeOver.Report>(TakeOver.State()) {
    (completed: $0.values, total: $0.totalValues)
  }

  init(_ work: @escaping @Sendable (TakeOver) async throws -> TakeOver.Report) {
    task.start { [self] in try await work(self) }
  }

  /// The same progress for user interfaces of Foundation, counted in values. Cancelling it cancels the take-over.
  public var progress: Progress { task.progress }

  /// A new stream of the progress: the present one, then the latest one after each change, until the end.
  public var updates: AsyncStream<TakeOver.State> { task.updates }

  /// Waits for the end, and returns the report. Cancelling the waiting task does not cancel the take-over.
  /// - Throws: `CancellationError` after ``cancel()``; `StorageError`. Values that were stored stay so, no original is
  ///   lost, and the next take-over continues.
  public func result() async throws -> TakeOver.Report { try await task.result() }

  /// Ends the take-over after the present batch. The next one continues it.
  public func cancel() { task.cancel() }

  /// Changes the progress and delivers it.
  func update(_ change: (inout TakeOver.State) -> Void) { task.update(change) }
}
