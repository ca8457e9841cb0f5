import CofferCore
import CofferLocks
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
  private struct State {
    var progress = TakeOverProgress()
    var streams: [UInt64: AsyncStream<TakeOverProgress>.Continuation] = [:]
    var lastStream: UInt64 = 0
    var isOver = false
  }

  /// The same progress for user interfaces of Foundation, counted in values. Cancelling it cancels the take-over.
  public let progress: Progress
  private let state = Locked(State())
  private let work = Locked<Task<TakeOverReport, any Error>?>(nil)

  init(_ work: @escaping @Sendable (TakeOver) async throws -> TakeOverReport) {
    progress = Progress(totalUnitCount: 0)
    let task = Task { [self] in
      defer { end() }
      return try await work(self)
    }
    self.work.withLock { $0 = task }
    progress.cancellationHandler = { task.cancel() }
  }

  /// A new stream of the progress: the present one, then the latest one after each change, until the end.
  public var updates: AsyncStream<TakeOverProgress> {
    let (stream, continuation) = AsyncStream.makeStream(of: TakeOverProgress.self, bufferingPolicy: .bufferingNewest(1))
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

  /// Waits for the end, and returns the report. Cancelling the waiting task does not cancel the take-over.
  /// - Throws: `CancellationError` after ``cancel()``; `StorageError`. Values that were stored stay so, no original is
  ///   lost, and the next take-over continues.
  public func result() async throws -> TakeOverReport {
    guard let task = work.withLock({ $0 }) else { throw CancellationError() }
    return try await task.value
  }

  /// Ends the take-over after the present batch. The next one continues it.
  public func cancel() { work.withLock { $0 }?.cancel() }

  /// Changes the progress and delivers it.
  func update(_ change: (inout TakeOverProgress) -> Void) {
    let latest = state.withLock { state in
      change(&state.progress)
      for stream in state.streams.values { stream.yield(state.progress) }
      return state.progress
    }
    // Observers of the progress may use this object.
    progress.totalUnitCount = Int64(latest.totalValues)
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
