package import CofferCore
package import Dispatch

/// The steps that commit a batch whose values are kept outside the store, with the store as their journal.
///
/// Like any other batch, it shares its transaction and its sync with its neighbours in the queue.
package struct CommitHook: Sendable {
  /// Runs before the batch is committed, on ``queue``, so that many callers prepare concurrently. A small batch of one
  /// key for a writer that is idle, or has just resumed its callers, is prepared on the writer's thread, since each
  /// thread switch costs a tenth of a save.
  let prepare: @Sendable () throws -> Void
  let queue: DispatchQueue
  /// Whether `prepare` takes no longer than writing a file: it asks no other program.
  let isQuick: Bool
  /// Runs inside the transaction of the commit, instead of the batch's operations.
  let apply: @Sendable (SQLiteDatabase.Transaction) throws -> Void
  /// Runs on the writer's thread after the commit of a group, once for all of the group's batches with a hook.
  let finish: @Sendable (_ committer: GroupCommitter, _ resume: Resume) throws -> Void

  /// A function that resumes the callers of a group; `failure` returns the error after the commit for a selection of
  /// keys, or `nil`.
  package typealias Resume = (_ failure: @escaping (StoreSelection) -> (any Error)?) -> Void

  /// Creates a hook.
  /// - Parameters:
  ///   - queue: the queue on which `prepare` runs.
  ///   - isQuick: whether `prepare` may run on the writer's thread instead, for which others wait.
  ///   - prepare: stages the values. If it throws, the batch is not committed.
  ///   - apply: writes the journal's record of the batch into the transaction. If it throws, only this batch fails,
  ///     with the same error.
  ///   - finish: publishes the staged values. It calls `resume` once, when all that callers wait for is done. If it
  ///     throws before that, each batch of the group fails with ``UnfinishedBatch``.
  package init(
    on queue: DispatchQueue, isQuick: Bool, prepare: @escaping @Sendable () throws -> Void,
    apply: @escaping @Sendable (SQLiteDatabase.Transaction) throws -> Void,
    finish: @escaping @Sendable (_ committer: GroupCommitter, _ resume: Resume) throws -> Void
  ) {
    self.queue = queue
    self.isQuick = isQuick
    self.prepare = prepare
    self.apply = apply
    self.finish = finish
  }
}

/// An error of a batch that was committed but whose values could not be published.
package struct UnfinishedBatch: Error {
  /// The error that occurred after the commit.
  package let cause: any Error
}
