public import CofferEncryption

extension StorageRouter {
  /// Erases all encrypted values of a domain's store for good, by destroying their keys. Plain values stay.
  ///
  /// ```swift
  /// let plan = try await router.shred(domain: .database(), dryRun: true)  // changes nothing
  /// let report = try await router.shred(domain: .database())
  /// ```
  ///
  /// Unlike ``clear(owner:_:dryRun:)``, it leaves nothing in the files of the store that could be opened with the
  /// root key. Earlier copies of the store have the keys as well: see `ShredReport.limits`. The store can be used
  /// afterwards.
  /// - Parameters:
  ///   - domain: the domain of the store.
  ///   - dryRun: whether only the report is made; `false` by default.
  /// - Returns: what was erased, or would be. If it is not `ShredReport.isComplete`, call
  ///   ``continueShredding(domain:)``.
  /// - Throws: The errors of opening the store and its key ring. `StorageError`: `unsupported` if the store does not
  ///   exist or holds nothing encrypted, or has no listings; `readOnly`; `busy` while it is being encrypted or
  ///   decrypted.
  @discardableResult
  public nonisolated func shred(domain: StorageDomain, dryRun: Bool = false) async throws -> ShredReport {
    let engine = try await encryption(of: domain, for: "the erasure of encrypted values")
    let store = try await openStores.store(of: domain)
    defer { if !dryRun { store.dropCache() } }
    return try await engine.shred(dryRun: dryRun, from: store.origin)
  }
  /// Finishes what an earlier ``shred(domain:dryRun:)`` could not, of this process or of one that was killed. No
  /// further key is destroyed, and what was written since stays.
  /// - Parameter domain: the domain of the store.
  /// - Returns: what was removed; `ShredReport.destroyedKeys` is empty if nothing was unfinished.
  /// - Throws: as ``shred(domain:dryRun:)``.
  @discardableResult
  public nonisolated func continueShredding(domain: StorageDomain) async throws -> ShredReport {
    let engine = try await encryption(of: domain, for: "the erasure of encrypted values")
    let store = try await openStores.store(of: domain)
    defer { store.dropCache() }
    return try await engine.continueShredding(from: store.origin)
  }

  /// Frees the files of a domain's store from what they hold beside its present content: removed values, and keys that
  /// a rotation has removed. Call it if `KeyRotation.Report.isScrubbed` is `false`, as for a store of more than 16 MiB.
  ///
  /// Every page is written anew; commits wait meanwhile, and those of other processes can fail with `busy`.
  /// - Parameter domain: the domain of the store.
  /// - Throws: `StorageError`: `unsupported` if the store does not exist or cannot do it; `busy` if others use the
  ///   store's log for too long; `readOnly`; `diskFull`; the errors of opening the store and its key ring. The content
  ///   is unchanged.
  public nonisolated func scrub(domain: StorageDomain) async throws {
    if let encryption = try await existingEncryption(of: domain) { return try await encryption.scrub() }
    guard let engine = try await existingStore(of: domain)?.engine else {
      throw StorageError.unsupported(
        "freeing its files of removed values, since it does not exist", advice: "Nothing was changed.",
        location: domain.description)
    }
    guard !engine.isReadOnly else {
      throw StorageError(
        .readOnly, "The store is open for reading only, so its files cannot be freed of removed values.",
        advice: "Open it for writing. Nothing was changed.", location: engine.description)
    }
    _ = try await engine.scrubFiles()
  }
}
