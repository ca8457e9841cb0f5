import CofferLocks

/// Runs the jobs of one key one after the other, in the order in which they were added. Those of different keys run at
/// once.
///
/// `KeyedQueue` orders tasks, and two tasks that were started one after the other may arrive in any order. Here the
/// place in the line is taken before `add` returns.
final class KeyedPipeline: Sendable {
  typealias Job = @Sendable () async -> Void

  /// The jobs behind the running one, for each key that has one.
  private let waiting = Locked<[StoreKey: ArraySlice<Job>]>([:])

  /// Runs a job after all that were added for the key before.
  func add(_ key: StoreKey, _ job: @escaping Job) {
    let isFirst = waiting.withLock { waiting in
      let isFirst = waiting[key] == nil
      if isFirst { waiting[key] = [] } else { waiting[key]?.append(job) }
      return isFirst
    }
    guard isFirst else { return }
    // Detached: what follows may be somebody else's, who has nothing to do with this caller's task.
    Task.detached { await self.run(job, andAllBehindItFor: key) }
  }

  private func run(_ first: @escaping Job, andAllBehindItFor key: StoreKey) async {
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
