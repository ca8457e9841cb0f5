package import CofferCore

/// The operations that an engine needs of a store that is its journal, in addition to those of every engine.
extension SQLiteEngine {
  /// Checks that the store can be written.
  /// - Throws: `closed`, or `readOnly` if the store is open for reading only.
  package func requireWritable() throws { _ = try openStore() }

  /// Commits a batch whose values are kept elsewhere, using `hook`. The commit survives power loss.
  /// - Parameter isSweep: whether the batch removes expired values, so that its `require` operations find them.
  package func commit(
    _ batch: WriteBatch, from origin: StoreOrigin, isSweep: Bool = false, hook: CommitHook
  ) async throws -> StoreCommit {
    let store = try openStore()
    let batch = PreparedBatch(batch, origin: origin, at: store.clock.now(), isSweep: isSweep, hook: hook)
    return try await store.writer.commit(batch, hook)
  }

  /// Runs a closure in a separate transaction on the writer's thread. If it throws, the transaction is rolled back.
  package func transact<R: Sendable>(
    _ header: TransactionHeader, _ body: @escaping @Sendable (SQLiteDatabase.Transaction) throws -> R
  ) async throws -> R {
    guard let events else { return try await transactUntold(header, body).result }
    return try await events.span(.transaction, at: description, transaction: header.transaction) { span, start in
      let (result, batch, commit) = try await transactUntold(header, body)
      if let commit {
        let told = StoreEvent.Commit(commit, batch, header.durability, since: start)
        events.emit(StoreEvent(location: description, .committed(told)), in: span)
      }
      return result
    }
  }

  private func transactUntold<R: Sendable>(
    _ header: TransactionHeader, _ body: @escaping @Sendable (SQLiteDatabase.Transaction) throws -> R
  ) async throws -> (result: R, batch: WriteBatch, commit: StoreCommit?) {
    let store = try openStore()
    let ((result, batch), commit) = try await store.writer.transact(header) {
      (try body($0), WriteBatch($0.operations))
    }
    store.sweep(at: store.clock.now(), after: batch)
    return (result, batch, commit)
  }

  /// Runs a closure with the writing connection, on the writer's thread.
  package func perform<R: Sendable>(_ body: @escaping @Sendable (GroupCommitter) throws -> R) async throws -> R {
    try await openStore().writer.perform(body)
  }

  /// Makes the revisions of a store without commits begin after `base`, before the store is used. Blocks the caller's
  /// thread.
  package func beginRevisions(after base: StoreRevision) throws {
    let writer = try openStore().writer
    try writer.performBlocking { committer in
      try committer.beginRevisions(after: base)
      writer.raise(committer.revision)
    }
  }
}
