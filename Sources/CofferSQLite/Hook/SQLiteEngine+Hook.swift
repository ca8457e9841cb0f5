package import CofferCore

/// What an engine needs of the store that is its journal, beside what every engine has.
extension SQLiteEngine {
  /// - Throws: `closed`, and `permissionDenied` where the store is open for reading only.
  package func requireWritable() throws { _ = try openStore() }

  /// Commits a batch whose values are kept elsewhere, as its hook does it. Survives power loss.
  package func commit(_ batch: WriteBatch, from origin: StoreOrigin, hook: CommitHook) async throws -> StoreCommit {
    let store = try openStore()
    return try await store.writer.commit(PreparedBatch(batch, origin: origin, at: store.clock.now(), hook: hook), hook)
  }

  /// Runs a closure in a transaction of its own on the writer's thread. If it throws, nothing has happened.
  package func transact<R: Sendable>(
    _ header: TransactionHeader, _ body: @escaping @Sendable (SQLiteTransaction) throws -> R
  ) async throws -> R {
    try await openStore().writer.transact(header, body)
  }

  /// Does something with the connection that writes, on the writer's thread.
  package func perform<R: Sendable>(_ body: @escaping @Sendable (GroupCommitter) throws -> R) async throws -> R {
    try await openStore().writer.perform(body)
  }

  /// Lets the revisions of a store that has none begin after a number, before anybody else can use it. Blocks the
  /// caller.
  package func beginRevisions(after base: StoreRevision) throws {
    let writer = try openStore().writer
    try writer.performBlocking { committer in
      try committer.beginRevisions(after: base)
      writer.raise(committer.revision)
    }
  }
}
