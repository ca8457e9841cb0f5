import CofferCore

/// A set of serial queues, one per key: jobs for one key run in the order in which they were added, jobs for different
/// keys run concurrently.
///
/// `KeyedQueue` orders tasks by arrival, which is undefined for two tasks started one after the other. Here the
/// position in the queue is fixed before `add` returns.
final class KeyedPipeline: Sendable {
  typealias Job = @Sendable () async -> Void

  /// The jobs that wait behind the running one, for each key with a running job.
  private let waiting = Locked<[KeyName: ArraySlice<Job>]>([:])

  /// Runs a job after all earlier jobs for the same key.
  func add(_ key: KeyName, _ job: @escaping Job) {
    let isFirst = waiting.withLock { waiting in
      let isFirst = waiting[key] == nil
      if isFirst { waiting[key] = [] } else { waiting[key]?.append(job) }
      return isFirst
    }
    guard isFirst else { return }
    // Detached: later jobs may belong to other callers and must not inherit this task's priority or local values.
    Task.detached { await self.run(job, andAllBehindItFor: key) }
  }

  private func run(_ first: @escaping Job, andAllBehindItFor key: KeyName) async {
    var job: Job? = first
    while let running = job {
      await running()
      job = waiting.withLock { waiting in
        let next = waiting[key]?.popFirst()
        if next == nil { waiting[key] = nil }
        return next
      }
    }
  }
}
