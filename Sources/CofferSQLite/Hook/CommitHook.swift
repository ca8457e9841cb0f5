package import CofferCore
package import Dispatch

/// How a batch is committed whose values are kept elsewhere, with the store as their journal.
///
/// Such a batch shares its transaction and its sync with its neighbours in the queue, as any other.
package struct CommitHook: Sendable {
  /// Runs before the batch has its turn: on ``queue``, so that many callers prepare at once. One small batch for an
  /// idle writer is prepared on the writer's own thread, since every thread that a save passes costs a tenth of it.
  let prepare: @Sendable () throws -> Void
  let queue: DispatchQueue
  /// Runs inside the transaction of the commit, in place of the batch's operations.
  let apply: @Sendable (SQLiteTransaction) throws -> Void
  /// Runs on the writer's thread after the commit of a group, once for all of the group's batches with a hook.
  let finish: @Sendable (_ committer: GroupCommitter, _ resume: Resume) throws -> Void

  /// Resumes the callers of a group, with what has gone wrong for each selection of keys after the commit.
  package typealias Resume = (_ failure: @escaping (StoreSelection) -> (any Error)?) -> Void

  /// - Parameters:
  ///   - queue: where `prepare` runs.
  ///   - prepare: puts the values aside. If it throws, the batch is not committed.
  ///   - apply: writes into the transaction what the journal is to know of the batch. If it throws, the batch fails
  ///     alone, with the same error.
  ///   - finish: puts the values into their places. It calls `resume` once, when all that callers wait for is done; if
  ///     it throws before that, each batch of the group fails with ``UnfinishedBatch``.
  package init(
    on queue: DispatchQueue, prepare: @escaping @Sendable () throws -> Void,
    apply: @escaping @Sendable (SQLiteTransaction) throws -> Void,
    finish: @escaping @Sendable (_ committer: GroupCommitter, _ resume: Resume) throws -> Void
  ) {
    self.queue = queue
    self.prepare = prepare
    self.apply = apply
    self.finish = finish
  }
}

/// A batch was committed, and what comes after that has failed.
package struct UnfinishedBatch: Error {
  /// What has failed.
  package let cause: any Error
}
