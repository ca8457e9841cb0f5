import Dispatch
package import Testing

/// A trait that runs tests on separate threads, for tests that wait for another process or compute for seconds.
///
/// The cooperative thread pool has one thread per core: on two cores, two blocked tests stop every other test.
package struct Blocking: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  /// Whether the caller has a thread of its own.
  package static var isSeparate: Bool { DispatchQueue.getSpecific(key: ThreadExecutor.key) != nil }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(ThreadExecutor.shared) {
      // Optimized code changes its thread only when it suspends.
      await Task.yield()
      try await function()
    }
  }
}

extension Trait where Self == Blocking {
  /// A trait for suites and tests that wait for other processes with blocking calls or compute for seconds.
  package static var blocking: Self { Self() }
}

/// An executor that runs each job on a separate thread.
private final class ThreadExecutor: TaskExecutor {
  static let shared = ThreadExecutor()
  static let key = DispatchSpecificKey<Void>()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // Dispatch provides a thread for every serial queue, however many others are blocked.
    let queue = DispatchQueue(label: "blocking test")
    queue.setSpecific(key: Self.key, value: ())
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
