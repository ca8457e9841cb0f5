import CofferCore
public import Foundation

/// A running rotation: values are written anew one by one, while the store is read and written by any process.
///
/// ```swift
/// let rotation = try await engine.rotate()
/// for await state in rotation.updates { show(state.values, of: state.totalValues) }
/// let report = try await rotation.result()
/// ```
///
/// It continues if this object is released, and ends with the process. A rotation that was interrupted at any point is
/// continued by the next one; every value can be read meanwhile.
public final class KeyRotation: Sendable {
  private let task = ObservedTask<KeyRotation.State, KeyRotation.Report>(KeyRotation.State()) {
    (completed: $0.values, total: $0.totalValues)
  }

  init(_ work: @escaping @Sendable (KeyRotation) async throws -> KeyRotation.Report) {
    task.start { [self] in try await work(self) }
  }

  /// The same progress for user interfaces of Foundation, counted in values. Cancelling it cancels the rotation.
  public var progress: Progress { task.progress }

  /// A new stream of the state: the present one, then the latest one after each change, until the rotation ends.
  public var updates: AsyncStream<KeyRotation.State> { task.updates }

  /// Waits for the end, and returns the report. Cancelling the waiting task does not cancel the rotation.
  /// - Throws: `CancellationError` after ``cancel()``; `StorageError`. Values that were written anew stay so, and the
  ///   next rotation continues.
  public func result() async throws -> KeyRotation.Report { try await task.result() }

  /// Ends the rotation after the present commit. The next one continues it.
  public func cancel() { task.cancel() }

  /// Changes the state and delivers it.
  func update(_ change: (inout KeyRotation.State) -> Void) { task.update(change) }
}
