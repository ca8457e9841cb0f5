import CofferCore

/// Removing what a store still holds of a plain value that was moved to a protected one.
extension StorageRouter {
  /// The size in bytes up to which a store is rewritten by a migration, which delays other writers.
  private static var scrubbedSize: Int { 16 << 20 }

  /// Returns the older keys of a protected one whose values were stored in plain.
  nonisolated func unprotected(_ sources: [AnyStorageKey], of destination: ResolvedKey) -> [AnyStorageKey] {
    guard isProtected(destination.record.descriptor) else { return [] }
    return sources.filter { !isProtected($0.descriptor) }
  }

  private nonisolated func isProtected(_ key: StorageKeyDescriptor) -> Bool {
    key.isSensitive || key.isEncrypted || key.domain.isSecure || configuration.keepsSecrets(key.domain)
  }

  /// Removes what the files of a store hold of a removed value: damaged copies in the quarantine, free pages, the log.
  /// - Returns: `false` if something may be left, since the store is large, in use or cannot do it.
  /// - Throws: `CancellationError`.
  nonisolated func removeRemains(of key: AnyStorageKey) async throws -> Bool {
    do {
      guard try await mayExist(key.descriptor.domain) else { return true }
      let engine = try await key.key.resolved(by: self).store.engine
      if let quarantine = engine.quarantine {
        let own = try StoreKey(key.key.name)
        let values = try await quarantine.quarantinedValues()
        try await quarantine.removeQuarantined(values.filter { $0.key == own }.map(\.id))
        // A damaged file of many values is left to the user: it may be all that is left of the others.
        if values.contains(where: { $0.key == nil }) {
          _ = try await engine.scrubFiles(upTo: Self.scrubbedSize)
          return false
        }
      }
      return try await engine.scrubFiles(upTo: Self.scrubbedSize)
    } catch let error as CancellationError { throw error } catch { return false }
  }
}
