import CofferFileSystem
public import CofferSQLite
public import Foundation

/// The calls that take the path of a file, with a file URL.
extension SlotEngine {
  /// Copies the values of one snapshot into a new SQLite store at a file URL, and verifies it.
  /// - Throws: The errors of a backup to a path; `StorageError` with code `inputOutput` if `url` is not a file URL.
  @discardableResult
  public func backup(to url: URL, overwrite: Bool = false) async throws -> BackupReport {
    try await backup(to: url.filePath(), overwrite: overwrite)
  }

  /// Replaces the content of the store with that of a backup at a file URL, in one commit.
  /// - Parameters:
  ///   - backup: the file of the backup. It is not changed.
  ///   - kept: the file of a backup made of the present content first; `nil` for none.
  /// - Throws: The errors of restoring from a path; `StorageError` with code `inputOutput` if one is not a file URL.
  @discardableResult
  public func restore(from backup: URL, keepingReplacedAt kept: URL? = nil) async throws -> RestoreReport {
    try await restore(from: backup.filePath(), keepingReplacedAt: kept?.filePath())
  }
}
