import CofferCore
import Foundation

extension TypedStore {
  /// Brings the value of a key to the present version of its schema. Reading it does the same.
  /// - Returns: whether this call has changed the stored value.
  /// - Throws: `StorageError`: `migrationFailed`, `newerFormat`, and those of a read and a save. The stored value is
  ///   then unchanged, unless the code is `outcomeUnknown` or `unfinished`. `CancellationError`.
  @discardableResult
  public func migrateValue(of key: KeyName) async throws -> Bool {
    guard coding.schema?[key] != nil else { return false }
    // Readers of one key migrate it one after the other: all but the first find the present version.
    return try await migrations.run(key) {
      while true {
        try Task.checkCancellation()
        guard let entry = try await engine.entry(key) else { return false }
        guard let operations = try await migration(of: entry) else { return false }
        do {
          try await commitMigration(operations)
          return true
        } catch let error as StorageError where error.code == .preconditionFailed {
          // Another process has migrated or changed it.
        }
      }
    }
  }

  /// Returns the operations that migrate a value if it is unchanged until then; `nil` if there is nothing to do.
  /// - Throws: the reason why it cannot be migrated; `CancellationError`.
  func migration(of entry: StoreEntry) async throws -> [WriteBatch.Operation]? {
    guard let schema = coding.schema?[entry.key] else { return nil }
    let version = try schema.storedVersion(entry.attributes, of: entry.key, at: engine.description)
    guard version != schema.version else { return nil }
    guard !engine.isReadOnly else {
      throw StorageError(
        .readOnly, "The value has version \(version) of '\(schema.name)', and the store is open for reading only.",
        advice: "Open it for writing once, to migrate the value to version \(schema.version).",
        location: engine.description, key: entry.key)
    }
    let encoded = try await schema.migrate(entry, from: version, coding)
    var attributes = entry.attributes
    attributes[.preferenceKind] = nil  // It belongs to the bytes and not to the value.
    attributes = attributes.merging(encoded.attributes)
    return [.require(entry.key, entry.revision), .put(entry.key, encoded.data, attributes)]
  }

  func commitMigration(_ operations: [WriteBatch.Operation]) async throws {
    let batch = WriteBatch(operations)
    let commit = try await engine.commit(batch, from: origin)
    cached(commit, batch.selection.keys.map { ($0, nil) }, batch, [])
  }
}
