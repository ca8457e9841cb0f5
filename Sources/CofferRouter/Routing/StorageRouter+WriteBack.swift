import Coffer

/// The writes of stores with write-back, by `StorageConfiguration.writePolicy`.
extension StorageRouter {
  /// Commits every write that was accepted before this call, in all stores of the router. Returns at once if none has
  /// write-back. Cancelling the task does not end the commits.
  /// - Throws: the error of the last store that could not commit; its writes are still pending, and those of the other
  ///   stores are committed. `unfinished` if ``discardPendingWrites()`` has given writes up meanwhile.
  public nonisolated func flush() async throws {
    var failure: (any Error)?
    for (_, store) in openStores.open {
      do { try await store.flush() } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The writes of all stores that are not committed yet. `failure` is the error of one of the stores whose last commit
  /// has failed.
  public nonisolated var pendingWrites: TypedStore.PendingWrites {
    let all = openStores.open.map(\.store.pendingWrites)
    return TypedStore.PendingWrites(
      count: all.reduce(0) { $0 + $1.count }, bytes: all.reduce(0) { $0 + $1.bytes },
      failure: all.lazy.compactMap(\.failure).first, isLogged: all.allSatisfy { $0.count == 0 || $0.isLogged })
  }

  /// Gives up the writes that are not committed, for example when the disk stays full. Reads return the stored values
  /// again.
  /// - Returns: the names of the keys whose writes were given up.
  @discardableResult
  public nonisolated func discardPendingWrites() async -> [KeyName] {
    var keys: [KeyName] = []
    for (_, store) in openStores.open { keys += await store.discardPendingWrites() }
    return keys
  }
}

extension StorageRouter.ResolvedKey {
  /// Returns the engine after the pending writes were committed, for a read that does not go through the typed store.
  /// - Parameter key: the only key that the caller uses, if the store may have refused a write of another one.
  func flushedEngine(for key: KeyName? = nil) async throws -> any StorageEngine {
    try await store.pending?.flush(key.map { [$0] })
    return store.engine
  }
}
