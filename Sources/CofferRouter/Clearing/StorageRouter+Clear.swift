import CofferCore

extension StorageRouter {
  /// Removes the values of all registered keys of an owner, for example when a user logs out.
  ///
  /// ```swift
  /// let plan = try await router.clear(owner: "Account", .valuesAndSecrets, dryRun: true)  // removes nothing
  /// let report = try await router.clear(owner: "Account", .valuesAndSecrets)
  /// ```
  ///
  /// The values of each store are removed in one commit. If a store cannot be read or written, or the process is
  /// killed, the values of the others are removed nevertheless, and a second call removes what is left. Values that no
  /// catalog declares are not touched, and neither are damaged bytes in a quarantine.
  /// - Parameters:
  ///   - owner: the owner in the declarations of the keys.
  ///   - content: whether secrets are removed, too; by default they are kept.
  ///   - dryRun: whether to report what would be removed without removing it.
  /// - Returns: The removed keys, and those that were left because their store failed. Check
  ///   ``ClearReport/isComplete``.
  /// - Throws: `StorageError` with code `unregisteredKey` if no registered key has that owner. Nothing was removed.
  public nonisolated func clear(
    owner: String, _ content: ClearReport.Content = .values, dryRun: Bool = false
  ) async throws -> ClearReport {
    let records = registry.registered.filter { $0.descriptor.owner == owner }
    guard !records.isEmpty else {
      throw StorageError(
        .unregisteredKey, "No registered key has the owner '\(owner.escapingControlCharacters)'.",
        advice: "Register the catalog of its keys first, and check the name. Nothing was removed.")
    }
    return await clear(records, content, dryRun: dryRun)
  }

  /// Removes the values of all registered keys; otherwise the same as ``clear(owner:_:dryRun:)``.
  ///
  /// ```swift
  /// let report = try await router.clear(all: .valuesAndSecrets)
  /// ```
  /// - Parameters:
  ///   - content: whether secrets are removed, too.
  ///   - dryRun: whether to report what would be removed without removing it.
  /// - Returns: The removed keys, and those that were left because their store failed. Check
  ///   ``ClearReport/isComplete``.
  /// - Throws: `StorageError` with code `unregisteredKey` if no key is registered. Nothing was removed.
  public nonisolated func clear(all content: ClearReport.Content, dryRun: Bool = false) async throws -> ClearReport {
    let records = registry.registered
    guard !records.isEmpty else {
      throw StorageError(
        .unregisteredKey, "No key is registered.", advice: "Register the catalogs first. Nothing was removed.")
    }
    return await clear(records, content, dryRun: dryRun)
  }

  private nonisolated func clear(
    _ records: [KeyRegistry.Record], _ content: ClearReport.Content, dryRun: Bool
  ) async -> ClearReport {
    var report = ClearReport(isDryRun: dryRun)
    for (name, domain, records) in groupedByStore(records) {
      let kept = records.filter { $0.descriptor.isSensitive && content == .values }
      let wanted = records.filter { !$0.descriptor.isSensitive || content == .valuesAndSecrets }
      var result = ClearReport.Store(store: name)
      if !wanted.isEmpty {
        do {
          let domain = try domain.get()
          let (ready, older) = await settle(wanted, dryRun: dryRun, left: &result.left)
          result.removed = try await remove(ready, in: domain, dryRun: dryRun, left: &result.left)
          result.removed += older.filter { !result.removed.contains($0) }
        } catch {
          result.left = wanted.map { .init(key: $0.key, reason: .failed(StoredError.storage(error))) }
        }
      }
      result.left += kept.map { .init(key: $0.key, reason: .secret) }
      report.stores.append(result)
    }
    return report
  }

  /// Migrates the keys of which there is only an older value, which would otherwise come back after the clear.
  /// - Returns: the keys without a failure; in a dry run, also those that would be migrated.
  private nonisolated func settle(
    _ records: [KeyRegistry.Record], dryRun: Bool, left: inout [ClearReport.LeftKey]
  ) async -> (ready: [KeyRegistry.Record], older: [KeyName]) {
    var (ready, older): ([KeyRegistry.Record], [KeyName]) = ([], [])
    for record in records {
      do {
        if try await awaitsMigration(record) {
          if dryRun { older.append(record.key) } else { _ = try await record.declaredKey.resolved(by: self) }
        }
        ready.append(record)
      } catch { left.append(.init(key: record.key, reason: .failed(StoredError.storage(error)))) }
    }
    return (ready, older)
  }

  /// Removes the values of one store's keys, and returns the keys that had one.
  /// - Parameter left: receives the keys that could not be examined, or not removed, on their own.
  /// - Throws: The error of the store if none of the values was removed.
  private nonisolated func remove(
    _ records: [KeyRegistry.Record], in domain: StorageDomain, dryRun: Bool, left: inout [ClearReport.LeftKey]
  ) async throws -> [KeyName] {
    guard let store = try await existingStore(of: domain) else { return [] }
    var keys: [KeyName] = []
    var removals: [KeyRegistry.Record] = []
    for record in records {
      do {
        let stored = try await storedKeys(of: record, in: store.engine)
        // An expired value that was not swept yet must not come back when the clock is set back.
        let isExpired = stored.isEmpty && !dryRun
        if try await isExpired ? store.engine.stores(record.key, isPrefix: record.isFamily) : !stored.isEmpty {
          removals.append(record)
        }
        keys += stored
      } catch let error as StorageError where error.key == record.key && error.code != .unavailable {
        left.append(.init(key: record.key, reason: .failed(error)))
      }
    }
    guard !dryRun, !removals.isEmpty else { return keys }
    if store.engine.capabilities.contains(.atomicBatches) {
      try await store.commit(WriteBatch(removals.map(\.removal)), (keys + removals.map(\.key)).map { ($0, nil) })
      return keys
    }
    var removed: [KeyName] = []
    for key in keys {
      do {
        try await store.delete(key)
        removed.append(key)
      } catch { left.append(.init(key: key, reason: .failed(StoredError.storage(error)))) }
    }
    return removed
  }
}
