import CofferCore

/// The queue of a store's commits. There is no timer: the requests that arrive during a transaction form the next
/// group.
///
/// One group is under way at a time, since the head of the store is locked by one transaction at a time anyway.
final class CommitQueue: Sendable {
  private struct Waiting {
    let id: UInt64
    let request: CommitRequest
    let continuation: CheckedContinuation<StoreCommit, any Error>
    /// The position in the queue.
    var order: UInt64 = 0
  }

  private struct State {
    var waiting: [Waiting] = []
    var isBusy = false
    var lastID: UInt64 = 0
    var lastOrder: UInt64 = 0
    /// The error of every further request; `nil` while requests are accepted.
    var refusal: StorageError?
    /// Those that wait until everything up to a position in the queue is committed.
    var drained: [(last: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
  }

  /// The maximum number of batches in a group, which bounds the wait of its first one.
  private static let groupLimit = 1_024
  /// The size of values in bytes at which a group ends.
  private static let groupBytes = 8 << 20

  private let state = Locked(State())

  /// Commits a group and returns the commit of each batch.
  typealias Process = @Sendable ([CommitRequest]) async -> [Result<StoreCommit, any Error>]

  /// Commits a request with the next group, by `process`.
  /// - Throws: `CancellationError` if the task was cancelled before the group began; any error of the commit.
  func commit(_ request: CommitRequest, by process: @escaping Process) async throws -> StoreCommit {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        submit(Waiting(id: id, request: request, continuation: continuation), process)
      }
    } onCancel: {
      // A request that is part of a group cannot be taken back.
      let removed = state.withLock { state -> Waiting? in
        guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
        return state.waiting.remove(at: index)
      }
      removed?.continuation.resume(throwing: CancellationError())
    }
  }

  private func submit(_ waiting: Waiting, _ process: @escaping Process) {
    let isCancelled = Task.isCancelled
    let (refusal, mustStart) = state.withLock { state -> ((any Error)?, Bool) in
      if let refusal = state.refusal { return (refusal, false) }
      if isCancelled { return (CancellationError(), false) }
      state.lastOrder += 1
      var waiting = waiting
      waiting.order = state.lastOrder
      state.waiting.append(waiting)
      defer { state.isBusy = true }
      return (nil, !state.isBusy)
    }
    if let refusal { return waiting.continuation.resume(throwing: refusal) }
    // On the caller's thread until it waits: a single writer is not handed to another one.
    if mustStart { Task.immediate { await run(process) } }
  }

  private func run(_ process: Process) async {
    while let group = takeGroup() {
      let results = await process(group.map(\.request))
      for (waiting, result) in zip(group, results) { waiting.continuation.resume(with: result) }
      // Those that were answered submit their next batches first: these then form one group, with one sync, instead of
      // two. The caller on whose thread this runs commits for no others.
      if group.count > 1 || state.withLock({ !$0.waiting.isEmpty }) { await Task.yield() }
    }
  }

  /// Returns the next group; if there is none, becomes idle and returns `nil`.
  private func takeGroup() -> [Waiting]? {
    let (group, drained) = state.withLock { state -> ([Waiting]?, [CheckedContinuation<Void, Never>]) in
      let next = state.waiting.first?.order ?? .max
      let drained = state.drained.filter { $0.last < next }.map(\.continuation)
      state.drained.removeAll { $0.last < next }
      guard let first = state.waiting.first else {
        state.isBusy = false
        return (nil, drained)
      }
      var (count, bytes) = (1, first.request.size)
      let limit = min(state.waiting.count, Self.groupLimit)
      while count < limit, bytes < Self.groupBytes {
        bytes += state.waiting[count].request.size
        count += 1
      }
      defer { state.waiting.removeFirst(count) }
      return (Array(state.waiting[..<count]), drained)
    }
    for continuation in drained { continuation.resume() }
    return group
  }

  /// Returns once everything that was accepted before is committed.
  func drain() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.isBusy { state.drained.append((state.lastOrder, continuation)) }
        return !state.isBusy
      }
      if isIdle { continuation.resume() }
    }
  }

  /// Refuses further requests with an error, and returns once the accepted ones are committed.
  func close(_ error: StorageError) async {
    state.withLock { $0.refusal = $0.refusal ?? error }
    await drain()
  }
}
