import CofferCore
import CofferLocks
import Foundation

/// The queue in front of the one connection that writes.
///
/// There is no timer: whatever has arrived while a commit was running is the next group. The connection belongs to
/// whoever has set `isBusy`: the writer's own thread, or, for a relaxed commit on an idle writer, the caller, since
/// handing over would cost more than the commit. A commit that syncs never runs on the caller, whose thread is one
/// of the few that Swift's tasks share.
final class Writer: Sendable {
  /// What the store does with commits that have happened.
  struct Listener: Sendable {
    /// Makes the revision known, before the waiters are resumed: what a task was told of, it can read.
    let raise: @Sendable (StoreRevision) -> Void
    /// Notes the newest revision whose sync has returned.
    let raiseDurable: @Sendable (StoreRevision) -> Void
    /// Tells the subscribers, in the order of the revisions, after the waiters were resumed.
    let announce: @Sendable ([StoreCommit]) -> Void
    /// The sign by which all processes know that a sync has failed.
    let failure: FailureSign
    /// Called once when the device has failed and the store must not be used any more.
    let fail: @Sendable (StorageError) -> Void
  }

  struct Queue {
    var requests: [WriteRequest] = []
    var isBusy = false
    var hasThread = false
    /// Why nothing is accepted any more.
    var refusal: StorageError?
  }

  /// How many batches share a commit at most, so that the first of them does not wait for ever more of them.
  private static let groupLimit = 1_024
  /// The same in bytes of values.
  private static let groupBytes = 4 << 20
  /// What a caller's thread commits itself, in bytes of values.
  private static let inlineLimit = 64 << 10

  let queue = Locked(Queue())
  private let lastID = Locked(UInt64(0))  // apart from the queue, whose lock is the one that everybody wants
  private let committer: Locked<GroupCommitter?>
  private let doorbell = Doorbell()
  private let checkpointer: Checkpointer
  let place: StorePlace
  let listener: Listener
  private let configuration: SQLiteConfiguration
  /// Whether batches may be written past damaged pages; set by the store, which can prove that no row is missing.
  let maySalvage = Locked<(@Sendable (any Error) -> Bool)?>(nil)

  init(_ place: StorePlace, configuration: SQLiteConfiguration, listener: Listener) throws {
    let committer = try GroupCommitter(place, configuration: configuration, failure: listener.failure)
    self.committer = Locked(committer)
    checkpointer = Checkpointer(place)
    self.place = place
    self.listener = listener
    self.configuration = configuration
  }

  /// Commits a batch: alone and at once, or with the next group.
  func commit(_ batch: PreparedBatch, durability: StoreDurability) async throws -> StoreCommit {
    try Task.checkCancellation()
    if durability == .relaxed, batch.size <= Self.inlineLimit, let result = try commitInline(batch) {
      return batch.commit(at: try result.get())
    }
    return batch.commit(at: try await enqueue { .batch(batch, durability, $0) })
  }

  /// Commits a batch that its hook prepares first; from the hook's queue it goes straight to the writer.
  func commit(_ batch: PreparedBatch, _ hook: CommitHook) async throws -> StoreCommit {
    try Task.checkCancellation()
    // Said before anything is prepared, which may fail in a less telling way: in a directory that is gone, say.
    if let refusal = queue.withLock({ $0.refusal }) { throw refusal }
    let isCancelled = Locked(false)
    let bring: (WriteRequest) -> Void = { [self] request in
      if batch.operations.count == 1, batch.size <= Self.inlineLimit, queue.withLock({ !$0.isBusy }) {
        var request = request
        request.prepare = hook.prepare
        if let refusal = submit(request, isCancelled: Task.isCancelled) { request.refuse(refusal) }
        return
      }
      hook.queue.async { [self] in
        do { try hook.prepare() } catch { return request.refuse(error) }
        if let refusal = submit(request, isCancelled: isCancelled.withLock { $0 }) { request.refuse(refusal) }
      }
    }
    let revision = try await enqueue(isCancelled, through: bring) { .batch(batch, .full, $0) }
    return batch.commit(at: revision)
  }

  /// Finishes what was accepted, then closes the connections.
  func close() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      stop { continuation.resume() }
    }
    await checkpointer.close()
  }

  /// The same without waiting, for a store that nobody closed.
  func abandon() {
    let hasThread = queue.withLock { queue in
      queue.refusal = queue.refusal ?? StorageError.closed(place.description)
      return queue.hasThread
    }
    // Without a thread nothing refers to this object any more, and the connection goes with it.
    if hasThread { stop {} }
  }

  // MARK: Arriving

  func enqueue<R: Sendable>(
    _ kind: (CheckedContinuation<R, any Error>) -> WriteRequest.Kind
  ) async throws -> R {
    let bring: (WriteRequest) -> Void = { [self] request in
      // A cancellation that came before this point found nothing to call back.
      if let refusal = submit(request, isCancelled: Task.isCancelled) { request.refuse(refusal) }
    }
    return try await enqueue(nil, through: bring, kind)
  }

  /// Makes a request that a cancellation calls back, and lets `bring` take it to the queue.
  private func enqueue<R: Sendable>(
    _ isCancelled: Locked<Bool>?, through bring: (WriteRequest) -> Void,
    _ kind: (CheckedContinuation<R, any Error>) -> WriteRequest.Kind
  ) async throws -> R {
    let id = lastID.withLock { lastID in
      lastID += 1
      return lastID
    }
    let deadline = deadline(milliseconds: place.busyTimeout)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { bring(WriteRequest(id: id, kind: kind($0), deadline: deadline)) }
    } onCancel: {
      isCancelled?.withLock { $0 = true }
      // Only what no group has taken yet can be called back.
      let request = queue.withLock { queue -> WriteRequest? in
        guard let index = queue.requests.firstIndex(where: { $0.id == id }) else { return nil }
        return queue.requests.remove(at: index)
      }
      request?.refuse(CancellationError())
    }
  }

  /// Adds a request and wakes the thread if nobody is working; or says why not.
  func submit(_ request: WriteRequest, isCancelled: Bool = false) -> (any Error)? {
    let (refusal, mustWake) = queue.withLock { queue -> ((any Error)?, Bool) in
      if let refusal = queue.refusal { return (refusal, false) }
      if isCancelled { return (CancellationError(), false) }
      queue.requests.append(request)
      defer { queue.isBusy = true }
      return (nil, !queue.isBusy)
    }
    if mustWake { wakeThread() }
    return refusal
  }

  private func stop(_ completion: @escaping @Sendable () -> Void) {
    // Its turn comes after everything that was accepted; the thread sees it by its number.
    let request = WriteRequest(
      id: Self.stopID, kind: .work(run: { _ in WorkOutcome() }, refuse: { _ in completion() }))
    let mustWake = queue.withLock { queue in
      queue.refusal = queue.refusal ?? StorageError.closed(place.description)
      queue.requests.append(request)
      defer { queue.isBusy = true }
      return !queue.isBusy
    }
    if mustWake { wakeThread() }
  }

  static let stopID = UInt64.max

  // MARK: Committing on the caller

  /// Commits on the caller's thread; `nil` when somebody else is writing, here or in another process.
  private func commitInline(_ batch: PreparedBatch) throws -> Result<StoreRevision, any Error>? {
    let isMine = try queue.withLock { queue in
      if let refusal = queue.refusal { throw refusal }
      guard !queue.isBusy else { return false }
      queue.isBusy = true
      return true
    }
    guard isMine else { return nil }
    let result = committer.withLock { committer -> Result<StoreRevision, any Error>? in
      guard let committer, let result = committer.commitWithoutWaiting(batch) else { return nil }
      // A damaged page is looked into on the thread.
      if (result.error as? StorageError)?.isDamagedPage == true { return nil }
      if case .success(let revision) = result, batch.isChange {
        raise(revision)
        listener.announce([batch.commit(at: revision)])
      }
      closeIfDeviceFailed([result])
      if committer.hasLostItsHistory, let error = result.error as? StorageError { refuse(error) }
      lookAfter(committer)
      return result
    }
    release()
    return result
  }

  /// Gives the connection back, or on to the thread if requests have arrived meanwhile.
  private func release() {
    let mustWake = queue.withLock { queue in
      queue.isBusy = !queue.requests.isEmpty
      return queue.isBusy
    }
    if mustWake { wakeThread() }
  }

  // MARK: Committing on the thread

  private func wakeThread() {
    let mustStart = queue.withLock { queue in
      defer { queue.hasThread = true }
      return !queue.hasThread
    }
    if mustStart {
      let thread = Thread { [self] in run() }
      thread.name = "coffer.writer"
      thread.start()
    }
    doorbell.ring()
  }

  private func run() {
    while true {
      doorbell.wait()
      while let group = takeGroup() {
        if let first = group.first, first.id == Self.stopID {
          committer.withLock { $0 = nil }
          first.refuse(StorageError.closed(place.description))
          return
        }
        committer.withLock { committer in
          guard let committer else { return }
          // What has waited longest has to be answered first.
          committer.connection.waiting(LockWait(until: group.first?.deadline ?? .max)) { process(group, committer) }
        }
      }
    }
  }

  /// The next work, or as many batches as are there; gives the connection back when there is nothing.
  private func takeGroup() -> [WriteRequest]? {
    queue.withLock { queue in
      guard let first = queue.requests.first else {
        queue.isBusy = false
        return nil
      }
      var count = 1
      if var bytes = first.batchSize {
        let limit = min(queue.requests.count, Self.groupLimit)
        while count < limit, bytes < Self.groupBytes, let size = queue.requests[count].batchSize {
          bytes += size
          count += 1
        }
      }
      if count == queue.requests.count {
        defer { queue.requests = [] }
        return queue.requests
      }
      defer { queue.requests.removeFirst(count) }
      return Array(queue.requests[..<count])
    }
  }

  private func process(_ group: [WriteRequest], _ committer: GroupCommitter) {
    guard let first = group.first else { return }
    if case .work(let run, _) = first.kind {
      let outcome = run(committer)
      if let commit = outcome.commit { listener.announce([commit]) }
      closeIfDeviceFailed(outcome.error)
      if committer.hasLostItsHistory, let error = outcome.error as? StorageError, error.code == .closed {
        refuse(error)
      }
      lookAfter(committer)
    } else {
      do { try first.prepare?() } catch { return first.refuse(error) }
      commit(group, committer)
    }
  }

  private func commit(_ group: [WriteRequest], _ committer: GroupCommitter) {
    var batches: [PreparedBatch] = []
    var durability = StoreDurability.relaxed
    batches.reserveCapacity(group.count)
    for request in group {
      guard case .batch(let batch, let wanted, _) = request.kind else { continue }
      batches.append(batch)
      durability = max(durability, wanted)
    }
    let results = salvaging(committer.commit(batches, durability: durability), batches, durability)
    if results.first?.isBusy == true { return answerBusy(group, results) }
    noteDurable(committer)
    // First the store closes, then its callers hear why: what they do next must not slip through.
    closeIfDeviceFailed(results)
    if committer.hasLostItsHistory, let error = results.first?.error as? StorageError { refuse(error) }
    if case .success(let newest)? = results.last(where: { $0.error == nil }) { raise(newest) }
    finish(batches, results, committer) { failure in
      for (request, result) in zip(group, results) {
        guard case .batch(let batch, _, let waiter) = request.kind else { continue }
        if result.error == nil, let failure = failure(batch) {
          waiter.resume(throwing: UnfinishedBatch(cause: failure))
        } else {
          waiter.resume(with: result)
        }
      }
    }
    let commits = zip(batches, results).compactMap { batch, result -> StoreCommit? in
      guard case .success(let revision) = result, batch.isChange else { return nil }
      return batch.commit(at: revision)
    }
    listener.announce(commits)
    lookAfter(committer)
  }

  /// Writes batches that have met a damaged page once more, past it, where every row proves itself: so that a damaged
  /// value can be replaced.
  private func salvaging(
    _ results: [Result<StoreRevision, any Error>], _ batches: [PreparedBatch], _ durability: StoreDurability
  ) -> [Result<StoreRevision, any Error>] {
    guard let failure = results.lazy.compactMap({ $0.error as? StorageError }).first(where: \.isDamagedPage),
      maySalvage.withLock({ $0 })?(failure) == true
    else { return results }
    var past = place
    past.ignoresPageFaults = true
    guard let committer = try? GroupCommitter(past, configuration: configuration, failure: listener.failure) else {
      return results
    }
    return zip(results, batches).map { result, batch in
      (result.error as? StorageError)?.isDamagedPage == true
        ? committer.commit([batch], durability: durability)[0] : result
    }
  }

  /// Resumes the waiters, with what went wrong after the commit of a batch. What a hook has to do comes before that.
  private func finish(
    _ batches: [PreparedBatch], _ results: [Result<StoreRevision, any Error>], _ committer: GroupCommitter,
    resume: ((PreparedBatch) -> (any Error)?) -> Void
  ) {
    let committed = zip(batches, results).first { $0.0.hook != nil && $0.0.isChange && $0.1.error == nil }
    guard let hook = committed?.0.hook else { return resume { _ in nil } }
    var isResumed = false
    do {
      try hook.finish(committer) { failure in
        isResumed = true
        resume { $0.hook == nil ? nil : failure($0.selection) }
      }
    } catch {
      closeIfDeviceFailed(error)
      if !isResumed { resume { $0.hook == nil || !$0.isChange ? nil : error } }
    }
  }

  func raise(_ revision: StoreRevision) {
    configuration.afterCommit?(revision)
    listener.raise(revision)
  }

  // MARK: After a commit

  /// Before the waiters are resumed: what a task was told of must show when it is lost.
  func noteDurable(_ committer: GroupCommitter) {
    if let revision = committer.takeDurableRevision() { listener.raiseDurable(revision) }
  }

  private func lookAfter(_ committer: GroupCommitter) {
    noteDurable(committer)
    if committer.takeCheckpointDue() {
      checkpointer.start { [self] code in housekeep { try $0.finishCheckpoint(code) } }
    }
    if committer.takeTrimDue() { housekeep { try $0.trimJournal() } }
  }

}

extension WriteRequest {
  /// The bytes of a batch's values; `nil` for what is done alone.
  fileprivate var batchSize: Int? {
    guard prepare == nil else { return nil }
    return if case .batch(let batch, _, _) = kind { batch.size } else { nil }
  }
}
