import CofferCore
import CofferLocks
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
  private struct State {
    var progress = RotationProgress()
    var streams: [UInt64: AsyncStream<RotationProgress>.Continuation] = [:]
    var lastStream: UInt64 = 0
    var isOver = false
  }

  /// The same progress for user interfaces of Foundation, counted in values. Cancelling it cancels the rotation.
  public let progress: Progress
  private let state = Locked(State())
  private let work = Locked<Task<RotationReport, any Error>?>(nil)

  init(_ work: @escaping @Sendable (KeyRotation) async throws -> RotationReport) {
    progress = Progress(totalUnitCount: 0)
    let task = Task { [self] in
      defer { end() }
      return try await work(self)
    }
    self.work.withLock { $0 = task }
    progress.cancellationHandler = { task.cancel() }
  }

  /// A new stream of the state: the present one, then the latest one after each change, until the rotation ends.
  public var updates: AsyncStream<RotationProgress> {
    let (stream, continuation) = AsyncStream.makeStream(of: RotationProgress.self, bufferingPolicy: .bufferingNewest(1))
    let id: UInt64? = state.withLock { state in
      continuation.yield(state.progress)
      guard !state.isOver else { return nil }
      state.lastStream += 1
      state.streams[state.lastStream] = continuation
      return state.lastStream
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.streams[id] = nil } }
    return stream
  }

  /// Waits for the end, and returns the report. Cancelling the waiting task does not cancel the rotation.
  /// - Throws: `CancellationError` after ``cancel()``; `StorageError`. Values that were written anew stay so, and the
  ///   next rotation continues.
  public func result() async throws -> RotationReport {
    guard let task = work.withLock({ $0 }) else { throw CancellationError() }
    return try await task.value
  }

  /// Ends the rotation after the present commit. The next one continues it.
  public func cancel() { work.withLock { $0 }?.cancel() }

  /// Changes the state and delivers it.
  func update(_ change: (inout RotationProgress) -> Void) {
    let latest = state.withLock { state in
      change(&state.progress)
      for stream in state.streams.values { stream.yield(state.progress) }
      return state.progress
    }
    // Observers of the progress may use this object.
    progress.totalUnitCount = Int64(max(latest.totalValues, latest.values))
    progress.completedUnitCount = Int64(latest.values)
  }

  private func end() {
    let streams = state.withLock { state in
      state.isOver = true
      defer { state.streams = [:] }
      return Array(state.streams.values)
    }
    for stream in streams { stream.finish() }
  }
}
