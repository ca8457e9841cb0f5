import CofferCore
import Foundation
import Testing

/// Runs each part of a task, from one suspension to the next, on a thread of its own.
private final class NewThreads: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }.start()
  }
}

private actor Worker {
  private let calls = Locked(0)

  @inline(never)
  func work(_ number: Int) async throws {
    await Task.yield()
    calls.withLock { $0 += 1 }
    if number.isMultiple(of: 2) { throw CancellationError() }
  }
}

/// Counts the beginning and the end of the work, on either of its ways out.
@inline(never)
private func count(_ number: Int, of worker: Worker, in lock: Locked<Int>) async throws {
  lock.withLock { $0 += 1 }
  defer { lock.withLock { $0 += 1 } }
  try await worker.work(number)
}

@Suite("Locks")
struct LockedTests {
  /// The optimizer may keep the address of a thread's own variables over a suspension, after which a function continues
  /// on another thread: an inlined lock then ends the process. Only a release build shows it.
  @Test("A function may lock before and after it suspends", .timeLimit(.minutes(1)))
  func suspension() async {
    let (lock, worker) = (Locked(0), Worker())
    await Task(executorPreference: NewThreads()) {
      for number in 0..<100 { try? await count(number, of: worker, in: lock) }
    }
    .value
    #expect(lock.withLock { $0 } == 200)
  }
}
