/// An engine that can be read and written by code that cannot suspend.
///
/// Its reads return without waiting for anything but the disk. An engine whose store can block or be unavailable, such
/// as a keyring, does not conform, or throws from ``requireSynchronousUse()``.
package protocol SynchronousEngine: StorageEngine {
  /// Checks that reads of this store do not block.
  /// - Throws: `unsupported` with the reason.
  func requireSynchronousUse() throws

  /// Returns the entry of a key, or `nil` if it is proven absent, on the caller's thread. It belongs to
  /// ``StorageEngine/latestRevision`` at the time of the call or to a later revision.
  /// - Throws: `StorageError` if the entry cannot be read; `busy` if that requires work that has to suspend.
  func entryNow(_ key: KeyName) throws -> StoreEntry?

  /// Accepts a batch, in the order of the calls, and passes its outcome to `completion`, before or after returning.
  func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void)
}

extension SynchronousEngine {
  package func requireSynchronousUse() throws {}
}

extension MemoryEngine: SynchronousEngine {
  package func entryNow(_ key: KeyName) throws -> StoreEntry? {
    try content().entry(key)?.present(at: clock.now())
  }

  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    let told = events?.emitting(batch, to: self, completion) ?? completion
    told(Result { try commitNow(batch, from: origin) })
  }
}
