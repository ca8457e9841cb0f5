import CofferCore
public import CofferSQLite
import Foundation

extension SlotEngine {
  /// Copies the values of one snapshot into a new SQLite store and verifies it.
  ///
  /// The backup holds each value with its attributes, such as the type of a preference, and the library's own records.
  /// ``restore(from:keepingReplacedAt:)-(String,_)`` restores it into a store of any kind. If the backup fails, no file
  /// is left at `path`.
  /// - Parameters:
  ///   - path: the path of the new file, in an existing directory.
  ///   - overwrite: whether an existing file at `path` is replaced.
  /// - Throws: `StorageError`: `unsupported` for a store of secrets, whose values would be unencrypted in the file; the
  ///   errors of reading the store and of `SQLiteEngine.backup(to:overwrite:progress:)`.
  @discardableResult
  public func backup(to path: String, overwrite: Bool = false) async throws -> BackupReport {
    guard !slots.keepsSecrets else { throw secretsStay }
    return try await ValueBackup.make(
      at: path, overwrite: overwrite, of: description, journal: journal, fill: copyValues(into:))
  }

  /// Replaces the content of the store with that of a backup, in one commit, which every subscriber receives.
  ///
  /// The whole backup is verified before anything is changed. All of its values are in memory at once.
  /// - Parameters:
  ///   - backup: a file made by ``backup(to:overwrite:)-(String,_)`` or
  ///     `SQLiteEngine.backup(to:overwrite:progress:)`. It is not changed.
  ///   - kept: the path of a backup made of the present content first; `nil` for none.
  /// - Throws: `StorageError`: `damaged`, `notAStore`, `newerFormat` or `notFound` for the backup, and the errors of a
  ///   commit. The store is unchanged then.
  @discardableResult
  public func restore(from backup: String, keepingReplacedAt kept: String? = nil) async throws -> RestoreReport {
    guard !slots.keepsSecrets else { throw secretsStay }
    if let obstacleToWriting { throw obstacleToWriting }
    let content = try await ValueBackup.content(of: backup)
    if let kept { try await self.backup(to: kept) }
    var operations: [WriteBatch.Operation] = [.clear(prefix: nil)]
    operations += content.values.map { .put($0.key, $0.value, $0.attributes) }
    let present = try await withStoredSnapshot { try $0.systemRecords }
    operations += present.keys.filter { content.records[$0] == nil }.sorted().map { .deleteRecord($0) }
    operations += content.records.puts
    let commit = try await commit(WriteBatch(operations), from: StoreOrigin())
    return RestoreReport(
      path: description, revision: commit.revision, values: content.values.count,
      valueBytes: content.values.reduce(0) { $0 + $1.value.count }, replaced: kept)
  }

  private var secretsStay: StorageError {
    StorageError.unsupported(
      "backups of secrets, which would be unencrypted in the file",
      advice: "Copy them into a sealed file: coffer cp FROM sealed:PATH. Nothing was written.", location: description)
  }

  /// Copies every value and record of one snapshot.
  /// - Returns: The revision of the snapshot.
  private func copyValues(into copy: SQLiteEngine) async throws -> StoreRevision {
    let (origin, transaction) = (StoreOrigin(), TransactionID())
    return try await withStoredSnapshot { snapshot in
      try await snapshot.forEachPage { page in
        try Task.checkCancellation()
        let operations = page.compactMap { $0.present(at: clock.now()) }
          .map { WriteBatch.Operation.put($0.key, $0.value, $0.attributes) }
        try await copy.commit(WriteBatch(operations, transaction: transaction, durability: .relaxed), from: origin)
      }
      let records = try snapshot.systemRecords
      if !records.isEmpty {
        try await copy.commit(
          WriteBatch(records.puts, transaction: transaction, durability: .relaxed), from: origin)
      }
      return snapshot.revision
    }
  }
}

extension StorageSnapshot {
  /// The library's own records; empty if the snapshot cannot list them.
  fileprivate var systemRecords: [SystemRecord.Name: Data] {
    get throws { try (self as? any RecordSnapshot)?.systemRecords() ?? [:] }
  }
}

extension [SystemRecord.Name: Data] {
  /// The operations that store the records, sorted by name.
  fileprivate var puts: [WriteBatch.Operation] { sorted { $0.key < $1.key }.map { .putRecord($0.key, $0.value) } }
}
