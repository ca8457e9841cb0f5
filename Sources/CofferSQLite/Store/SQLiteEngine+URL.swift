import CofferFileSystem
public import Foundation

/// The calls that take the path of a file, with a file URL.
extension SQLiteEngine {
  /// Opens the store at a file URL, creating it if it is missing.
  /// - Throws: The errors of opening a path; `StorageError` with code `inputOutput` if `url` is not a file URL.
  public static func open(
    at url: URL, configuration: SQLiteEngine.Configuration = SQLiteEngine.Configuration()
  ) async throws -> SQLiteEngine {
    try await open(at: url.filePath(), configuration: configuration)
  }

  /// Copies one state of the store into a new file at a file URL, and verifies the copy.
  /// - Parameters:
  ///   - url: the file to create, in an existing directory.
  ///   - overwrite: whether an existing file is replaced.
  ///   - progress: called on a background thread after each step of about 1 MiB.
  /// - Throws: The errors of a backup to a path; `StorageError` with code `inputOutput` if `url` is not a file URL.
  @discardableResult
  public func backup(
    to url: URL, overwrite: Bool = false, progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> BackupReport {
    try await backup(to: url.filePath(), overwrite: overwrite, progress: progress)
  }

  /// Replaces a store with a backup, both given as file URLs.
  /// - Parameters:
  ///   - backup: the file of the backup. It is not changed.
  ///   - url: the file of the store.
  ///   - options: what happens to a store that is open, and to the replaced state.
  ///   - progress: called on a background thread after each step of about 1 MiB.
  /// - Throws: The errors of restoring to a path; `StorageError` with code `inputOutput` if one is not a file URL.
  @discardableResult
  public static func restore(
    from backup: URL, to url: URL, options: RestoreOptions = RestoreOptions(),
    progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> RestoreReport {
    try await restore(from: backup.filePath(), to: url.filePath(), options: options, progress: progress)
  }
}
