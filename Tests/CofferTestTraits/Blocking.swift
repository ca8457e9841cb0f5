import Dispatch
package import Testing

/// Runs tests that block their thread, because they wait for another process or compute for seconds, on threads of
/// their own.
///
/// The pool that all tasks share has one thread per core: two blocked ones stop every other test for as long.
package struct Blocking: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(ThreadExecutor.shared, operation: function)
  }
}

extension Trait where Self == Blocking {
  /// For suites and tests that wait for other processes with blocking calls, or compute for seconds.
  package static var blocking: Self { Self() }
}

/// Runs each job on a thread that no other job waits for.
private final class ThreadExecutor: TaskExecutor {
  static let shared = ThreadExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // Dispatch gives every serial queue a thread, however many others are blocked.
    DispatchQueue(label: "blocking test").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
