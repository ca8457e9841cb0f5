import CofferCore

/// A unit of work in the writer's queue.
struct WriteRequest: Sendable {
  enum Kind: Sendable {
    /// A batch, which shares a transaction with adjacent batches in the queue.
    case batch(PreparedBatch, StoreDurability, BatchWaiter)
    /// Other work, in a separate transaction. `run` resumes its continuation, if it has one.
    case work(run: @Sendable (GroupCommitter) -> WorkOutcome, refuse: @Sendable (any Error) -> Void)
  }

  let id: UInt64
  let kind: Kind
  /// When waiting for the write lock ends, in nanoseconds of system uptime.
  var deadline = UInt64.max
  /// Preparation of a batch, run first on the writer's thread; such a batch is committed alone.
  var prepare: (@Sendable () throws -> Void)?

  /// Fails the request with an error.
  func refuse(_ error: any Error) {
    switch kind {
    case .batch(_, _, let waiter): waiter.resume(.failure(error))
    case .work(_, let refuse): refuse(error)
    }
  }
}

/// The outcome of work: the commit to announce, or the error; neither if nothing was committed.
struct WorkOutcome {
  var commit: StoreCommit?
  var error: (any Error)?
}

extension WriteRequest {
  /// The size of a batch's values in bytes; `nil` for a request that is processed alone.
  var batchSize: Int? {
    guard prepare == nil else { return nil }
    return if case .batch(let batch, _, _) = kind { batch.size } else { nil }
  }
}
