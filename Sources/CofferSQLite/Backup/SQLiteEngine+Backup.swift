public import CofferCore
import Foundation

/// What a backup holds.
public struct BackupReport: Hashable, Sendable {
  /// The canonical path of the backup.
  public let path: String
  /// The newest commit that is in it.
  public let revision: StoreRevision
  /// How many values it holds.
  public let values: Int
  /// The sum of their sizes in bytes.
  public let valueBytes: Int
  /// The size of the file in bytes.
  public let fileBytes: Int
}

extension SQLiteEngine {
  /// Copies one state of the store into a new file while it is in use, and checks the copy.
  ///
  /// The copy is a store of its own that needs no other file beside it: it can be opened, copied and put back with
  /// ``restore(from:to:options:progress:)``. It holds everything in the database: values, journal, and an application's
  /// own tables. It has an epoch of its own, so that positions in one of them mean nothing in the other.
  ///
  /// It is written beside `path`, synced, read again as a whole (structure, checksum of each page and of each value,
  /// their number and digest), and only then put at `path`. Nothing is left there when it fails. Reading holds back the
  /// restart of the log for as long as it takes.
  /// - Parameters:
  ///   - path: where the copy is to be, in an existing directory, on any local file system.
  ///   - overwrite: whether a file at `path` is replaced.
  ///   - progress: called on a thread of the backup's own after each step of about 1 MiB.
  /// - Throws: `StorageError`: `damaged` when a page or a value of the store is, and which; `preconditionFailed` when
  ///   there is a file already; `diskFull`, `permissionDenied`, `busy` when another backup to this path is under way.
  ///   `CancellationError` when the task is cancelled.
  @discardableResult
  public func backup(
    to path: String, overwrite: Bool = false, progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> BackupReport {
    let source = readOnlyStore == nil ? try openStore().place : place
    return try await BackupWork.run(progress) { work in
      try Backup(source: source, work: work).run(to: path, overwrites: overwrite)
    }
  }
}

/// The making of a backup.
struct Backup {
  let source: StorePlace
  let work: BackupWork

  func run(to path: String, overwrites: Bool) throws -> BackupReport {
    let target = try BackupPlace(path)
    try target.checkFree(from: source, overwrites: overwrites)
    let file = try StagedFile(for: target.path, suffix: ".coffer-backup", backend: target.description)
    defer { file.discard() }
    let place = StorePlace(path: file.staged, busyTimeout: 1, name: target.description)
    try PageCopy(source: source, target: place, work: work).run()
    let checked = StorePlace(path: file.staged, busyTimeout: 1, name: source.description)
    let content = try Self.check(checked, work)
    try file.sync()
    try work.checkCancellation()
    let size = FileManager.default.sizeOfFile(file.staged)
    try file.place(overwriting: overwrites)
    return BackupReport(
      path: target.path, revision: content.revision, values: content.values, valueBytes: content.valueBytes,
      fileBytes: size)
  }

  /// Makes one file of a store that nobody has open.
  static func makeOneFile(_ place: StorePlace) throws {
    let connection = try Connection(place)
    try connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE")
    unlink(place.wakePath)
  }

  /// Gives a copy a history of its own and proves that it is whole.
  static func check(_ place: StorePlace, _ work: BackupWork) throws -> BackupCheck.Content {
    let connection = try Connection(place)
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
    let content = try BackupCheck(connection: connection, work: work).run()
    try History.renewEpoch(connection)
    return content
  }
}

/// Where a backup is or is to be.
struct BackupPlace {
  let path: String
  var description: String { "sqlite:\(path)" }

  /// Resolves all but the last name: a link there is replaced, not followed.
  init(_ path: String) throws {
    let url = URL(fileURLWithPath: path)
    guard !path.isEmpty, !path.hasSuffix("/"), !path.utf8.contains(0),
      let directory = realpath(url.deletingLastPathComponent().path, nil)
    else {
      throw StorageError(
        .inputOutput, "There is no directory for the file \(path.escapingControlCharacters).",
        advice: "Give the path of a file in an existing directory. Nothing was changed.", backend: "sqlite:\(path)")
    }
    defer { free(directory) }
    let prefix = String(cString: directory)
    self.path = (prefix == "/" ? "" : prefix) + "/" + url.lastPathComponent
  }

  func checkFree(from source: StorePlace, overwrites: Bool) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      guard errno == ENOENT else { throw StorageError.system("lstat", path: path, errno: errno, backend: description) }
      return
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(
        .notAStore, "There is something else than a file at \(path.escapingControlCharacters).",
        advice: "Give the path of a file. Nothing was changed.", backend: description)
    }
    if let there = FileIdentity(path), there == FileIdentity(source.path) {
      throw StorageError(
        .preconditionFailed, "The backup would replace the store that it is made of.", advice: "Give another path.",
        backend: description)
    }
    guard overwrites else { throw StagedFile.exists(path, description) }
    for suffix in ["-wal", "-journal"] where access(path + suffix, F_OK) == 0 {
      throw StorageError(
        .preconditionFailed, "The file at \(path.escapingControlCharacters) is a store that is in use.",
        advice: "Close it everywhere, or give another path. Nothing was changed.", backend: description)
    }
  }
}

extension FileManager {
  /// The size of a file in bytes; 0 when it cannot be told.
  func sizeOfFile(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
