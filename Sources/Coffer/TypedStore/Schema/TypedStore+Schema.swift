import CofferPresence
import Foundation

extension TypedStore {
  /// Brings the value of a key to the present version of its schema. Reading it does the same.
  /// - Returns: whether this call has changed the stored value.
  /// - Throws: `StorageError`: `migrationFailed`, `newerFormat`, and those of a read and a save. The stored value is
  ///   then unchanged, unless the code is `outcomeUnknown` or `unfinished`. `CancellationError`.
  @discardableResult
  public func migrateValue(of key: StoreKey) async throws -> Bool {
    guard let schema = coding.schema?[key] else { return false }
    // Readers of one key migrate it one after the other: all but the first find the present version.
    return try await migrations.run(key) {
      while true {
        try Task.checkCancellation()
        guard let entry = try await engine.entry(key) else { return false }
        guard let operations = try await migration(of: entry, by: schema) else { return false }
        do {
          try await commitMigration(operations)
          return true
        } catch let error as StorageError where error.code == .preconditionFailed {
          // Another process has migrated or changed it.
        }
      }
    }
  }

  /// Reads, and reads again after each older value that was migrated.
  func migrating<R>(_ read: () async throws -> R) async throws -> R {
    try await handlingDamage { _ in
      nil
    } by: { _, error in
      throw error
    } read: {
      try await read()
    }
  }

  /// Brings all values of declared keys to the present versions of their schemas, a hundred in one commit.
  ///
  /// Each commit is complete in itself: a run that was cancelled, killed or has failed is resumed by the next one.
  /// - Parameters:
  ///   - prefix: the prefix of the keys; `nil` for all keys.
  ///   - progress: called after each commit.
  /// - Returns: the numbers of values.
  /// - Throws: the errors of ``migrateValue(of:)`` at the first value that cannot be migrated; the values before it are
  ///   stored in their new form.
  @discardableResult
  public func migrate(
    prefix: StoreKey? = nil, progress: (@Sendable (SchemaMigrationProgress) -> Void)? = nil
  ) async throws -> SchemaMigrationProgress {
    guard let schema = coding.schema else { return SchemaMigrationProgress(total: 0) }
    let due = try await engine.summaries(prefix: prefix).compactMap { summary -> StoreKey? in
      guard let declared = schema[summary.key] else { return nil }
      let version = try declared.storedVersion(summary.attributes, of: summary.key, at: engine.description)
      return version < declared.version ? summary.key : nil
    }
    var report = SchemaMigrationProgress(total: due.count)
    for start in stride(from: 0, to: due.count, by: 100) {
      let keys = Array(due[start..<min(start + 100, due.count)])
      report.migrated += try await migrateTogether(keys, schema)
      report.completed += keys.count
      progress?(report)
    }
    return report
  }

  private func migrateTogether(_ keys: [StoreKey], _ schema: StoreSchema) async throws -> Int {
    var (operations, count): ([WriteBatch.Operation], Int) = ([], 0)
    var failure: (any Error)?
    do {
      for entry in try await engine.entries(keys) {
        try Task.checkCancellation()
        guard let entry, let declared = schema[entry.key] else { continue }
        guard let migration = try await migration(of: entry, by: declared) else { continue }
        operations += migration
        count += 1
      }
    } catch { failure = error }
    do {
      if !operations.isEmpty { try await commitMigration(operations) }
    } catch let error as StorageError where error.code == .preconditionFailed && failure == nil {
      count = 0
      for key in keys where try await migrateValue(of: key) { count += 1 }
    }
    if let failure { throw failure }
    return count
  }

  /// Returns the operations that migrate a value if it is unchanged until then; `nil` if there is nothing to do.
  private func migration(of entry: StoreEntry, by schema: DeclaredSchema) async throws -> [WriteBatch.Operation]? {
    let version = try schema.storedVersion(entry.attributes, of: entry.key, at: engine.description)
    guard version < schema.version else { return nil }
    guard !engine.isReadOnly else {
      throw StorageError(
        .readOnly, "The value has version \(version) of '\(schema.name)', and the store is open for reading only.",
        advice: "Open it for writing once, to migrate the value to version \(schema.version).",
        location: engine.description, key: entry.key)
    }
    let encoded = try await schema.migrate(entry, from: version, coding)
    var attributes = entry.attributes
    attributes[Self.propertyListType] = nil
    attributes[.legacyEncoding] = nil
    attributes = attributes.merging(encoded.attributes)
    var operations: [WriteBatch.Operation] = [
      .require(entry.key, entry.revision), .put(entry.key, encoded.data, attributes),
    ]
    if schema.keepOldForm != .never, let oldKey = OldForm.key(of: entry.key) {
      let old = OldForm(of: entry, replacedBy: encoded.data)
      var kept = entry.attributes
      kept[Self.propertyListType] = nil
      if case .for(let time) = schema.keepOldForm {
        let end = engine.clock.now().addingTimeInterval(time / .seconds(1))
        kept.expires = min(end, kept.expires ?? end)
      }
      operations.append(.put(oldKey, old.encoded, kept))
    }
    return operations
  }

  /// The type of a preference, which belongs to the bytes and not to the value.
  private static var propertyListType: ValueAttribute<UInt8> { ValueAttribute(code: 1) }

  private func commitMigration(_ operations: [WriteBatch.Operation]) async throws {
    let batch = WriteBatch(operations)
    let commit = try await engine.commit(batch, from: origin)
    cached(commit, batch.selection.keys.map { ($0, nil) }, batch)
  }

  /// Restores the bytes and attributes that a value had before its migration.
  ///
  /// The next read by this version of the application migrates the value again: use it before the previous version of
  /// the application is installed again.
  /// - Throws: `StorageError`: `notFound` if no old form is kept, or the value was changed after its migration;
  ///   `damaged` if the old form is damaged; `preconditionFailed` if another writer changes the value meanwhile.
  ///   Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  public func rollback(of key: StoreKey) async throws {
    let (entry, old) = try await oldForm(of: key)
    guard let entry, let old, let oldKey = OldForm.key(of: key) else {
      throw StorageError(
        .notFound, "There is no old form of the value: it was not migrated, or was changed since.",
        advice: "The value is unchanged.", location: engine.description, key: key)
    }
    try await commitMigration([
      .require(key, entry.revision), .put(key, old.data, old.attributes), .delete(oldKey),
    ])
  }

  /// Rolls back all values that have a kept old form, each in a commit of its own.
  ///
  /// A run that was cancelled or has failed is resumed by the next one.
  /// - Parameter prefix: the prefix of the keys; `nil` for all keys.
  /// - Returns: the number of values that were rolled back; those changed after their migration are not.
  /// - Throws: the errors of ``rollback(of:)`` other than `notFound`; the values before it are rolled back.
  @discardableResult
  public func rollback(prefix: StoreKey?) async throws -> Int {
    var count = 0
    for summary in try await engine.summaries(prefix: prefix) where OldForm.isKey(summary.key) {
      try Task.checkCancellation()
      guard let key = try? StoreKey(String(summary.key.string.dropLast(OldForm.suffix.count))),
        coding.schema?[key] != nil
      else { continue }
      do {
        try await rollback(of: key)
        count += 1
      } catch let error as StorageError where error.code == .notFound {}
    }
    return count
  }

  /// Returns the entry of a key and its kept old form, if that belongs to the entry.
  private func oldForm(of key: StoreKey) async throws -> (StoreEntry?, OldForm?) {
    guard let oldKey = OldForm.key(of: key) else { return (try await engine.entry(key), nil) }
    let entries = try await engine.entries([key, oldKey])
    guard let entry = entries[0], let stored = entries[1] else { return (entries[0], nil) }
    let old = try OldForm(stored, at: engine.description)
    return (entry, old.isReplaced(by: entry.value) ? old : nil)
  }

  /// Returns the value of a key that a newer version of the application has migrated, from its kept old form; `nil` if
  /// there is none of this version.
  func previousValue<T: Decodable & Sendable>(_ type: T.Type, for key: StoreKey) async throws -> T? {
    guard let schema = coding.schema?[key], type == schema.type, let old = try await oldForm(of: key).1 else {
      return nil
    }
    let version = try schema.storedVersion(old.attributes, of: key, at: engine.description)
    guard version == schema.version else { return nil }
    return try coding.plainDecode(type, from: EncodedValue(old.data, old.attributes), for: key)
  }
}

/// The progress of a migration of all values.
public struct SchemaMigrationProgress: Hashable, Sendable {
  /// The number of values that had an older version.
  public let total: Int
  /// The number of values that have been dealt with.
  public internal(set) var completed = 0
  /// The number of values that this run has migrated; another process may have migrated others.
  public internal(set) var migrated = 0
}
