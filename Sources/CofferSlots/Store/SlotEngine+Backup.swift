import CofferCore
public import CofferSQLite
import Foundation

extension SlotEngine {
  /// Copies the values of one snapshot into a new file, a store of its own, and checks it.
  ///
  /// The file holds each value and what is said of it where the home keeps that, such as the type of a preference. It
  /// can be put back with ``restore(from:keepingReplacedAt:)``, into a home of any kind. Nothing is left at `path` when
  /// it fails.
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
    let content = try await ValueBackup.entries(of: backup)
    if let kept { try await self.backup(to: kept) }
    var batch = WriteBatch()
    batch.clear()
    for entry in content { batch.put(entry.key, entry.value, entry.attributes) }
    let commit = try await commit(batch, from: Origin())
    return RestoreReport(
      path: description, revision: commit.revision, values: content.count,
      valueBytes: content.reduce(0) { $0 + $1.value.count }, replaced: kept)
  }

  private var secretsStay: StorageError {
    StorageError.unsupported(
      "backups of secrets, which would be in the file as they are",
      advice: "Copy them into a sealed file: coffer cp FROM sealed:PATH. Nothing was written.", backend: description)
  }

  /// - Returns: The revision of the home's state.
  private func copyValues(into copy: SQLiteEngine) async throws -> Revision {
    let (origin, transaction) = (Origin(), TransactionID())
    return try await withSnapshot { snapshot in
      var last: Key?
      while true {
        try Task.checkCancellation()
        let page = try await snapshot.page(prefix: nil, after: last, limit: 1_000)
        guard let end = page.last else { return snapshot.revision }
        let operations = page.map { WriteBatch.Operation.put($0.key, $0.value, $0.attributes) }
        try await copy.commit(WriteBatch(operations, transaction: transaction, durability: .relaxed), from: origin)
        last = end.key
      }
    }
  }
}
