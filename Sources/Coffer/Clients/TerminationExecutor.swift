import CofferLocks
import Foundation

/// Runs the tasks that save when the process ends, on a thread of its own: `exit` in a task blocks a thread of the
/// concurrency pool, and on a machine with one processor the pool has no other.
@available(macOS 15, iOS 18, watchOS 11, *)
final class TerminationExecutor: TaskExecutor {
  private static let shared = TerminationExecutor()

  private struct State {
    var jobs: [UnownedJob] = []
    var isRunning = false
    /// The number of saves that are under way because the process ends or is about to be stopped.
    var uses = 0
  }

  private let state = Locked(State())
  private let isReady = DispatchSemaphore(value: 0)

  /// The executor once the process is ending or about to be stopped, otherwise `nil`, which is the pool.
  static var present: TerminationExecutor? { shared.state.withLock { $0.uses > 0 } ? shared : nil }

  /// Starts the thread, if there is none.
  static func begin() {
    let begins = shared.state.withLock { state in
      state.uses += 1
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard begins else { return }
    let thread = Thread { shared.run() }
    thread.name = "coffer.last"
    thread.start()
  }

  /// Ends the use for new tasks: a process that was stopped may be continued.
  static func end() { shared.state.withLock { $0.uses -= 1 } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
    isReady.signal()
  }

  private func run() {
    while true {
      isReady.wait()
      let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
      job?.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

/// A detached task that is able to run while the process ends.
enum SavingTask {
  /// Runs `body`, which waits for tasks that are started meanwhile, at the end of the process.
  static func atTermination(_ body: () -> Void) {
    guard #available(macOS 15, iOS 18, watchOS 11, *) else { return body() }
    TerminationExecutor.begin()
    defer { TerminationExecutor.end() }
    body()
  }

  @discardableResult
  static func detached<R: Sendable>(_ body: @escaping @Sendable () async -> R) -> Task<R, Never> {
    if #available(macOS 15, iOS 18, watchOS 11, *), let executor = TerminationExecutor.present {
      return Task.detached(executorPreference: executor) { await body() }
    }
    return Task.detached { await body() }
  }

  @discardableResult
  static func throwing<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) -> Task<R, any Error> {
    if #available(macOS 15, iOS 18, watchOS 11, *), let executor = TerminationExecutor.present {
      return Task.detached(executorPreference: executor) { try await body() }
    }
    return Task.detached { try await body() }
  }
}
