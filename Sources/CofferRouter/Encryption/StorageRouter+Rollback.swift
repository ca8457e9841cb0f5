extension StorageRouter {
  /// Takes an encrypted store as it is and anchors this state, although its anchor knows a newer one or another store
  /// (`rolledBack`). Use it after a backup was restored, the store was moved, or the anchor was lost.
  ///
  /// ```swift
  /// do { token = try await router.get(.token) } catch let error as StorageError where error.code == .rolledBack {
  ///   guard await person.hasRestoredBackup() else { throw error }
  ///   try await router.acceptRollback(of: .database())
  /// }
  /// ```
  ///
  /// Call it once, when somebody has decided so. The newer copy that the anchor knew is refused from then on. The store
  /// is open afterwards.
  /// - Parameter domain: the domain of the store.
  /// - Throws: The errors of opening the store and its key ring, and `StorageError`. The anchor is unchanged then.
  ///   - `unsupported` if the store does not exist, or has no anchor (`StoreOptions.Encryption.rollbackProtection`).
  ///   - `busy` if its anchor was compared by this router.
  ///   - `keyUnavailable` for a store in plain, which `EncryptedEngine.encrypt` encrypts.
  ///   - `unavailable` for an anchor that cannot be read or written.
  ///   - `readOnly`.
  public nonisolated func acceptRollback(of domain: StorageDomain) async throws {
    guard try await mayExist(domain) else {
      throw StorageError.holdsNothingEncrypted(domain, "accepting an older copy of a store")
    }
    try await openStores.acceptRollback(of: domain)
  }
}
