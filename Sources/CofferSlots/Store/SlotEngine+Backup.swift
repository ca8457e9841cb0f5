import CofferCore
public import CofferSQLite
import Foundation

extension SlotEngine {
  /// Copies the values of one snapshot into a new file, a store of its own, and checks it.
  ///
  /// The file holds each value with its attributes, such as the type of a preference, and the library's own records.
  /// It can be put back with ``restore(from:keepingReplacedAt:)``, into a home of any kind. Nothing is left at `path`
  /// when it fails.
  /// - Parameters:
  ///   - path: where the file is to be, in an existing directory.
  ///   - overwrite: whether a file at `path` is replaced.
  /// - Throws: `StorageError`: `unsupported` for a home of secrets, whose values would be in the file as they are; what
  ///   reading the home and `SQLiteEngine.backup(to:overwrite:progress:)` throw.
  @discardableResult
  public func backup(to path: String, overwrite: Bool = false) async throws -> BackupReport {
    guard !slots.keepsSecrets else { throw secretsStay }
    return try await ValueBackup.make(
      at: path, overwrite: overwrite, of: description, journal: journal, fill: copyValues(into:))
  }

  /// Makes the home hold exactly what a backup holds, in one commit, which every subscriber receives.
  ///
  /// The backup is checked as a whole before anything is changed. All of its values are in memory at once.
  /// - Parameters:
  ///   - backup: a file that ``backup(to:overwrite:)`` or `SQLiteEngine.backup(to:overwrite:progress:)` has made. It
  ///     is not changed.
  ///   - kept: where a backup of what is replaced is made before; `nil` for none.
  /// - Throws: `StorageError`: `damaged`, `notAStore`, `newerFormat` or `notFound` for the backup, and what a commit
  ///   throws. The home is as it was then.
  @discardableResult
  public func restore(from backup: String, keepingReplacedAt kept: String? = nil) async throws -> RestoreReport {
    guard !slots.keepsSecrets else { throw secretsStay }
    let content = try await ValueBackup.content(of: backup)
    if let kept { try await self.backup(to: kept) }
    var operations: [WriteBatch.Operation] = [.clear(prefix: nil)]
    operations += content.values.map { .put($0.key, $0.value, $0.attributes) }
    let present = try await withSnapshot { try $0.systemRecords }
    operations += present.keys.filter { content.records[$0] == nil }.sorted().map { .deleteRecord($0) }
    operations += content.records.puts
    let commit = try await commit(WriteBatch(operations), from: StoreOrigin())
    return RestoreReport(
      path: description, revision: commit.revision, values: content.values.count,
      valueBytes: content.values.reduce(0) { $0 + $1.value.count }, replaced: kept)
  }

  private var secretsStay: StorageError {
    StorageError.unsupported(
      "backups of secrets, which would be in the file as they are",
      advice: "Copy them into a sealed file: coffer cp FROM sealed:PATH. Nothing was written.", backend: description)
  }

  /// - Returns: The revision of the home's state.
  private func copyValues(into copy: SQLiteEngine) async throws -> StoreRevision {
    let (origin, transaction) = (StoreOrigin(), TransactionID())
    return try await withSnapshot { snapshot in
      try await snapshot.forEachPage { page in
        try Task.checkCancellation()
        let operations = page.map { WriteBatch.Operation.put($0.key, $0.value, $0.attributes) }
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
  /// The records of the library's own; none where they cannot be listed.
  fileprivate var systemRecords: [SystemRecordName: Data] {
    get throws { try (self as? any RecordSnapshot)?.systemRecords() ?? [:] }
  }
}

extension [SystemRecordName: Data] {
  /// The steps that store the records, in the order of their names.
  fileprivate var puts: [WriteBatch.Operation] { sorted { $0.key < $1.key }.map { .putRecord($0.key, $0.value) } }
}
