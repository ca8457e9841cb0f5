import CofferCore

/// One thing that the writer is asked to do.
struct WriteRequest: Sendable {
  enum Kind: Sendable {
    /// A batch, which shares a transaction with its neighbours in the queue.
    case batch(PreparedBatch, StoreDurability, CheckedContinuation<StoreRevision, any Error>)
    /// Anything else, which has a transaction of its own. `run` resumes its own waiter, if it has one.
    case work(run: @Sendable (GroupCommitter) -> WorkOutcome, refuse: @Sendable (any Error) -> Void)
  }

  let id: UInt64
  let kind: Kind
  /// When it stops to wait for the write lock, as the system's uptime in nanoseconds.
  var deadline = UInt64.max
  /// What comes before a batch on the writer's thread; such a batch is committed alone.
  var prepare: (@Sendable () throws -> Void)?

  /// Tells the waiter that the request was not carried out.
  func refuse(_ error: any Error) {
    switch kind {
    case .batch(_, _, let continuation): continuation.resume(throwing: error)
    case .work(_, let refuse): refuse(error)
    }
  }
}

/// What came of a piece of work: the commit to announce, or why there is none.
struct WorkOutcome {
  var commit: StoreCommit?
  var error: (any Error)?
}
