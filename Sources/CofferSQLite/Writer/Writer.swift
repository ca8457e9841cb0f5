import CofferCore
import Foundation

/// The queue of commits, which owns the write connection.
///
/// The connection is opened by the first commit, on the writer's thread: many openings are followed by reads only. If
/// it cannot be opened, the commits that wait fail, and the next one tries again.
///
/// There is no timer: the requests that arrive during a commit form the next group. The thread that sets `isBusy` owns
/// the connection: the writer's own thread, or, for a relaxed commit on an idle writer, the caller's, since switching
/// threads would cost more than the commit. A commit that syncs never runs on the caller's thread, which is one of the
/// few in Swift's cooperative pool.
final class Writer: Sendable {
  /// The callbacks of the store after a commit.
  struct Listener: Sendable {
    /// The newest revision that any process has announced.
    let newest: @Sendable () -> StoreRevision
    /// Publishes the revision, before callers are resumed, so that a caller can read its own commit.
    let raise: @Sendable (StoreRevision) -> Void
    /// Records the newest revision whose sync has returned.
    let raiseDurable: @Sendable (StoreRevision) -> Void
    /// Notifies subscribers, in the order of revisions, after callers are resumed.
    let announce: @Sendable ([StoreCommit]) -> Void
    /// The flag, shared by all processes, that a sync has failed.
    let failure: SyncFailureFlag
    /// Called once when the store must no longer be used, for example after a failed sync.
    let fail: @Sendable (StorageError) -> Void
  }

  struct Queue {
    var requests: [WriteRequest] = []
    var isBusy = false
    var isEnding = false  // Whether the thread has resumed the callers of its group.
    var hasStarted = false  // Whether there was a request for the writer's thread, which opens the connection.
    /// The error of every further request; `nil` while requests are accepted.
    var refusal: StorageError?
  }

  /// The maximum number of batches in a group, which bounds the wait of its first one.
  private static let groupLimit = 1_024
  /// The size of values in bytes at which a group ends.
  private static let groupBytes = 4 << 20

  let queue = Locked(Queue())
  private let lastID = Locked(UInt64(0))  // not in the queue, whose lock is contended
  private let committer = Locked<GroupCommitter?>(nil)
  /// Lends the writer's thread while there are requests: one of its own, woken for each group, makes no durable save
  /// faster. They are of another priority than those that open stores, which may wait for a writer.
  private let thread = DispatchQueue(label: "coffer.writer", qos: .userInitiated)
  private let checkpointer: Checkpointer
  let file: StoreFile
  let files: OpenFiles
  /// The history in which the store was opened.
  let history: History
  let listener: Listener
  let configuration: SQLiteEngine.Configuration
  /// Returns whether batches may be written past damaged pages; set by the store, which can prove that all rows exist.
  let maySalvage = Locked<(@Sendable (any Error) -> Bool)?>(nil)

  init(
    to file: StoreFile, _ files: OpenFiles, _ history: History, configuration: SQLiteEngine.Configuration,
    listener: Listener
  ) {
    checkpointer = Checkpointer(file, files, configuration.storeEvents)
    (self.file, self.files, self.history) = (file, files, history)
    self.listener = listener
    self.configuration = configuration
  }

  /// Commits a batch, either at once on the caller's thread or with the next group.
  func commit(_ batch: PreparedBatch, durability: StoreDurability) async throws -> StoreCommit {
    try Task.checkCancellation()
    if durability == .relaxed, batch.isSmall, let result = try commitInline(batch) {
      return try result.get()
    }
    return try await enqueue { .batch(batch, durability, BatchWaiter($0)) }
  }

  /// Commits a batch after its hook has prepared it, on the hook's queue or, for a small one, on the writer's thread.
  func commit(_ batch: PreparedBatch, _ hook: CommitHook) async throws -> StoreCommit {
    try Task.checkCancellation()
    // Checked first, since preparation may fail with a less specific error, such as a missing directory.
    if let refusal = queue.withLock({ $0.refusal }) { throw refusal }
    let isCancelled = Locked(false)
    let bring: (WriteRequest) -> Void = { [self] request in
      let isNext = hook.isQuick && queue.withLock { !$0.isBusy || $0.isEnding && $0.requests.isEmpty }
      if isNext, batch.selection.keys.count < 2, batch.isSmall {
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
    return try await enqueue(isCancelled, through: bring) { .batch(batch, .full, BatchWaiter($0)) }
  }

  /// Finishes the accepted requests, then closes the connections.
  func close() async {
    let isUnused = queue.withLock { queue in
      queue.refusal = queue.refusal ?? StorageError.closed(file.description)
      return !queue.hasStarted && !queue.isBusy
    }
    guard !isUnused else { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      stop { continuation.resume() }
    }
    await checkpointer.close()
  }

  /// Starts closing without waiting, for a store that is released without being closed.
  /// - Parameter end: called once nothing is under way.
  func abandon(_ end: @escaping @Sendable () -> Void) {
    let hasStarted = queue.withLock { queue in
      queue.refusal = queue.refusal ?? StorageError.closed(file.description)
      return queue.hasStarted
    }
    // Before the first request there is no connection, and nothing is under way.
    if hasStarted { stop(end) } else { end() }
  }

  // MARK: Arriving

  func enqueue<R: Sendable>(
    _ kind: (CheckedContinuation<R, any Error>) -> WriteRequest.Kind
  ) async throws -> R {
    let bring: (WriteRequest) -> Void = { [self] request in
      // An earlier cancellation found no request to remove.
      if let refusal = submit(request, isCancelled: Task.isCancelled) { request.refuse(refusal) }
    }
    return try await enqueue(nil, through: bring, kind)
  }

  /// Creates a cancellable request and passes it to `bring`, which submits it.
  private func enqueue<R: Sendable>(
    _ isCancelled: Locked<Bool>?, through bring: (WriteRequest) -> Void,
    _ kind: (CheckedContinuation<R, any Error>) -> WriteRequest.Kind
  ) async throws -> R {
    let id = lastID.withLock { lastID in
      lastID += 1
      return lastID
    }
    let deadline = deadline(milliseconds: file.busyTimeout)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { bring(WriteRequest(id: id, kind: kind($0), deadline: deadline)) }
    } onCancel: {
      isCancelled?.withLock { $0 = true }
      // Only a request that is not yet part of a group can be removed.
      let request = queue.withLock { queue -> WriteRequest? in
        guard let index = queue.requests.firstIndex(where: { $0.id == id }) else { return nil }
        return queue.requests.remove(at: index)
      }
      request?.refuse(CancellationError())
    }
  }

  /// Adds a request and wakes the writer's thread if it is idle.
  /// - Returns: The error if the request was not accepted; `nil` on success.
  func submit(_ request: WriteRequest, isCancelled: Bool = false) -> (any Error)? {
    let (refusal, mustWake) = queue.withLock { queue -> ((any Error)?, Bool) in
      if let refusal = queue.refusal { return (refusal, false) }
      if isCancelled { return (CancellationError(), false) }
      queue.requests.append(request)
      queue.hasStarted = true
      defer { queue.isBusy = true }
      return (nil, !queue.isBusy)
    }
    if mustWake { wakeThread() }
    return refusal
  }

  private func stop(_ completion: @escaping @Sendable () -> Void) {
    // It follows all accepted requests; the thread recognizes it by its identifier.
    let request = WriteRequest(
      id: Self.stopID, kind: .work(run: { _ in WorkOutcome() }, refuse: { _ in completion() }))
    let mustWake = queue.withLock { queue in
      queue.refusal = queue.refusal ?? StorageError.closed(file.description)
      queue.requests.append(request)
      defer { queue.isBusy = true }
      return !queue.isBusy
    }
    if mustWake { wakeThread() }
  }

  static let stopID = UInt64.max

  // MARK: Committing on the caller

  /// Commits on the caller's thread; returns `nil` if another caller or process is writing.
  func commitInline(_ batch: PreparedBatch) throws -> Result<StoreCommit, any Error>? {
    let isMine = try queue.withLock { queue in
      if let refusal = queue.refusal { throw refusal }
      guard !queue.isBusy else { return false }
      queue.isBusy = true
      return true
    }
    guard isMine else { return nil }
    let result = committer.withLock { committer -> Result<StoreCommit, any Error>? in
      guard let committer, let result = committer.commitWithoutWaiting(batch) else { return nil }
      // A damaged page is handled on the writer's thread.
      if (result.error as? StorageError)?.isDamagedPage == true { return nil }
      let commit = result.map { batch.commit(at: $0, groupSize: 1) }
      switch commit {
      case .success(let commit) where batch.isChange:
        raise(commit.revision)
        listener.announce([commit])
      case .success: break
      case .failure(let error): closeIfNeeded([error], committer)
      }
      lookAfter(committer)
      return commit
    }
    release()
    return result
  }

  /// Releases the connection, or passes it to the writer's thread if requests have arrived meanwhile.
  private func release() {
    let mustWake = queue.withLock { queue in
      queue.isBusy = !queue.requests.isEmpty
      return queue.isBusy
    }
    if mustWake { wakeThread() }
  }

  // MARK: Committing on the thread

  private func wakeThread() { thread.async { [self] in run() } }

  private func run() {
    while let group = takeGroup() {
      if let first = group.first, first.id == Self.stopID {
        committer.withLock { $0 = nil }
        return first.refuse(StorageError.closed(file.description))
      }
      committer.withLock { present in
        let committer: GroupCommitter
        do { committer = try opened(&present, until: group.first?.deadline) } catch {
          // Ended before its callers are resumed, who may open it again.
          if let error = error as? StorageError, error.code == .closed { refuse(error) }
          for request in group { request.refuse(error) }
          return
        }
        // The first request has waited longest, so its deadline applies.
        committer.connection.waiting(LockWait(until: group.first?.deadline ?? .max)) {
          process(group, committer)
          if let events = configuration.storeEvents { tellWait(committer, events) }
        }
      }
    }
  }

  /// Returns the next work, or a group of waiting batches; if there is none, releases the connection and returns `nil`.
  private func takeGroup() -> [WriteRequest]? {
    queue.withLock { queue in
      queue.isEnding = false
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
      var group = group
      do { try first.prepare?() } catch { return first.refuse(error) }
      group[0].prepare = nil  // It may wait for the lock again.
      commit(group, committer)
    }
  }

  private func commit(_ all: [WriteRequest], _ committer: GroupCommitter) {
    var group = all
    var batches: [PreparedBatch] = []
    var durability = StoreDurability.relaxed
    batches.reserveCapacity(group.count)
    for request in group {
      guard case .batch(let batch, let wanted, _) = request.kind else { continue }
      batches.append(batch)
      durability = max(durability, wanted)
    }
    var results = committer.commit(batches, durability: durability)
    noteDurable(committer)
    if results.contains(where: { $0.error != nil }) {
      results = salvaging(results, batches, durability)
      answerBusy(&group, &batches, &results)
      guard !group.isEmpty else { return }
      // The store is closed before its callers are resumed, so that their next request is rejected.
      closeIfNeeded(results.compactMap(\.error), committer)
    }
    if case .success(let newest)? = results.last(where: { $0.error == nil }) { raise(newest) }
    let commits = zip(batches, results).map { batch, result in
      result.map { batch.commit(at: $0, groupSize: batches.count) }
    }
    finish(batches, results, committer) { failure in
      for (request, result) in zip(group, commits) {
        guard case .batch(let batch, _, let waiter) = request.kind else { continue }
        if result.error == nil, let failure = failure(batch) {
          waiter.resume(.failure(UnfinishedBatch(cause: failure)))
        } else {
          waiter.resume(result)
        }
      }
    }
    listener.announce(zip(batches, commits).compactMap { batch, result in batch.isChange ? try? result.get() : nil })
    lookAfter(committer)
  }

  /// Finishes the hook of a committed batch, then resumes the callers, with the hook's error if it failed.
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
        queue.withLock { $0.isEnding = true }
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

  /// Records the durable revision. Call it before callers are resumed, so that a loss of their commits is detectable.
  func noteDurable(_ committer: GroupCommitter) {
    if let revision = committer.takeDurableRevision() { listener.raiseDurable(revision) }
  }

  /// Closes the store if an error of a commit says that it must no longer be used.
  private func closeIfNeeded(_ errors: [any Error], _ committer: GroupCommitter) {
    closeIfDeviceFailed(errors.first { ($0 as? StorageError)?.code == .outcomeUnknown })
    if committer.hasLostItsHistory, let error = errors.first as? StorageError { refuse(error) }
  }

  private func lookAfter(_ committer: GroupCommitter) {
    noteDurable(committer)
    if committer.takeCheckpointDue() {
      checkpointer.start { [self] code in housekeep { try $0.finishCheckpoint(code) } }
    }
    if committer.takeTrimDue() { housekeep { try $0.trimJournal() } }
  }
}
