import CofferCore
public import Foundation

/// A running import: values of another library are stored in batches, while any process uses the store.
///
/// ```swift
/// let run = engine.import(from: .files(directory: path, encoding: .json))
/// for await state in run.updates { show(state.values, of: state.totalValues) }
/// let report = try await run.result()
/// ```
///
/// It continues if this object is released, and ends with the process. Interrupted at any point, the next one continues
/// it: what the store has is recognized by its bytes.
public final class Import: Sendable {
  private let task = ObservedTask<Import.State, Import.Report>(Import.State()) {
    (completed: $0.values, total: $0.totalValues)
  }

  init(_ work: @escaping @Sendable (Import) async throws -> Import.Report) {
    task.start { [self] in try await work(self) }
  }

  /// The same progress for user interfaces of Foundation, counted in values. Cancelling it cancels the import.
  public var progress: Progress { task.progress }

  /// A new stream of the progress: the present one, then the latest one after each change, until the end.
  public var updates: AsyncStream<Import.State> { task.updates }

  /// Waits for the end, and returns the report. Cancelling the waiting task does not cancel the import.
  /// - Throws: `CancellationError` after ``cancel()``; `StorageError`. Values that were stored stay so, no original is
  ///   lost, and the next import continues.
  public func result() async throws -> Import.Report { try await task.result() }

  /// Ends the import after the present batch. The next one continues it.
  public func cancel() { task.cancel() }

  /// Changes the progress and delivers it.
  func update(_ change: (inout Import.State) -> Void) { task.update(change) }
}
