public import CofferCore
import Foundation

/// The result of a backup.
public struct BackupReport: Hashable, Sendable {
  /// The canonical path of the backup.
  public let path: String
  /// The revision of the newest commit in the backup.
  public let revision: StoreRevision
  /// The number of values in the backup.
  public let values: Int
  /// The total size of the values in bytes.
  public let valueBytes: Int
  /// The size of the backup file in bytes.
  public let fileBytes: Int
}

extension SQLiteEngine {
  /// Copies one state of the store into a new file, and verifies the copy. The store may be in use meanwhile.
  ///
  /// The copy is a complete store in a single file: it can be opened, copied, and restored with
  /// ``restore(from:to:options:progress:)-(String,_,_,_)``. It contains everything in the database: values, the
  /// journal, and the application's own tables. It has its own epoch, so a journal position of one store is not valid
  /// in the other.
  ///
  /// The copy is written to a temporary file beside `path` and verified as a whole (structure, the checksum of each
  /// page and each value, their number and digest). Then it is synced and renamed to `path`. A failed backup leaves
  /// `path` unchanged. The write-ahead log cannot restart while the copy is being made.
  /// - Parameters:
  ///   - path: the path of the copy, in an existing directory on any local file system.
  ///   - overwrite: whether an existing file at `path` is replaced.
  ///   - progress: called on a background thread after each step of about 1 MiB.
  /// - Throws: `StorageError`; `CancellationError` if the task is cancelled.
  ///   - `damaged`, naming the page or the value that is damaged.
  ///   - `preconditionFailed` if a file exists at `path` and `overwrite` is `false`, or if that file is a store in use.
  ///   - `busy` if another backup to `path` is under way.
  ///   - `diskFull`; `permissionDenied`.
  @discardableResult
  public func backup(
    to path: String, overwrite: Bool = false, progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> BackupReport {
    let view = try openCore().view()
    return try await BackupWork.run(progress) { work in
      try Backup(source: view.file, work: work, requireUnchanged: view.requireUnchanged)
        .run(to: path, overwrites: overwrite)
    }
  }
}

/// A backup of one database file.
struct Backup {
  let source: StoreFile
  let work: BackupWork
  /// Throws if the source was read without locks and has changed meanwhile.
  var requireUnchanged: @Sendable () throws -> Void = {}

  func run(to path: String, overwrites: Bool) throws -> BackupReport {
    let target = try BackupTarget(path)
    try target.checkFree(from: source, overwrites: overwrites)
    let staged = try StagedFile(for: target.path, suffix: ".coffer-backup", location: target.description)
    defer { staged.discard() }
    let file = StoreFile(path: staged.temporaryPath, busyTimeout: 1, name: target.description)
    try PageCopy(source: source, target: file, work: work).run()
    try requireUnchanged()
    let checked = StoreFile(path: staged.temporaryPath, busyTimeout: 1, name: source.description)
    let content = try Self.check(checked, work)
    try staged.sync()
    try work.checkCancellation()
    let size = FileManager.default.sizeOfFile(staged.temporaryPath)
    try staged.publish(overwriting: overwrites)
    return BackupReport(
      path: target.path, revision: content.revision, values: content.values, valueBytes: content.valueBytes,
      fileBytes: size)
  }

  /// Merges the write-ahead log of a store that is not open into its database file.
  static func makeOneFile(_ file: StoreFile, named identity: String?) throws {
    let connection = try Connection(file)
    if let identity {
      try StatementCache(connection).execute(
        "UPDATE coffer_meta SET value = ?1 WHERE name = 'store'", [.text(identity)])
    }
    try connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE")
    unlink(file.wakePath)
  }

  /// Verifies a copy as a whole, and gives it a new epoch.
  static func check(_ file: StoreFile, _ work: BackupWork) throws -> BackupCheck.Content {
    let connection = try Connection(file)
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
    let content = try BackupCheck(connection: connection, work: work).run()
    try History.renewEpoch(connection)
    return content
  }
}

/// The path at which a backup is published.
struct BackupTarget {
  let path: String
  var description: String { "sqlite:\(path)" }

  /// Resolves all but the last component of `path`: a symbolic link there is replaced, not followed.
  init(_ path: String) throws {
    let url = URL(fileURLWithPath: path)
    guard !path.isEmpty, !path.hasSuffix("/"), !path.utf8.contains(0),
      let directory = realpath(url.deletingLastPathComponent().path, nil)
    else {
      throw StorageError(
        .inputOutput, "The path '\(path.escapingControlCharacters)' is not that of a file in an existing directory.",
        advice: "Give the path of a file in an existing directory. Nothing was changed.", location: "sqlite:\(path)")
    }
    defer { free(directory) }
    let prefix = String(cString: directory)
    self.path = (prefix == "/" ? "" : prefix) + "/" + url.lastPathComponent
  }

  func checkFree(from source: StoreFile, overwrites: Bool) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      guard errno == ENOENT else { throw StorageError.system("lstat", path: path, errno: errno, location: description) }
      return
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(
        .notAStore, "\(path.escapingControlCharacters) is not a regular file.",
        advice: "Give the path of a file. Nothing was changed.", location: description)
    }
    if let there = FileIdentity(path), there == FileIdentity(source.path) {
      throw StorageError(
        .preconditionFailed, "The backup would replace the store that it copies.", advice: "Give another path.",
        location: description)
    }
    guard overwrites else { throw StagedFile.exists(path, description) }
    for suffix in ["-wal", "-journal"] where access(path + suffix, F_OK) == 0 {
      throw StorageError(
        .preconditionFailed, "The file at \(path.escapingControlCharacters) is a store in use.",
        advice: "Close it everywhere, or give another path. Nothing was changed.", location: description)
    }
  }
}

extension FileManager {
  /// Returns the size of a file in bytes, or 0 if it cannot be determined.
  func sizeOfFile(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
