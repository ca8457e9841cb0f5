import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

extension StorePlace {
  /// The canonical place of a store: one name for every way of writing the path.
  ///
  /// Creates the directory (0700) and an empty file (0600) where the store may be created.
  static func resolve(_ path: String, configuration: SQLiteConfiguration) throws -> StorePlace {
    let asGiven = configuration.name ?? "sqlite:\(path)"
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StorageError(
        .inputOutput, "The path of the store is empty or contains a NUL byte.", advice: "Give the path of a file.",
        backend: asGiven)
    }
    let url = URL(fileURLWithPath: path)
    let directory = url.deletingLastPathComponent().path
    // Before anything is made: a link that leads nowhere is no reason to begin an empty store.
    let isThere: Bool
    do { isThere = try PathParts.exists(url.path) } catch { throw error.locating(backend: asGiven) }
    if configuration.createsIfMissing { try makeDirectory(directory, backend: asGiven) }
    guard try isThere || configuration.createsIfMissing || directoryExists(directory, asGiven) else {
      throw Schema.missing(asGiven)
    }
    let file = try canonicalPath(of: url.path, directory: directory, name: url.lastPathComponent, backend: asGiven)
    try checkLength(file, backend: asGiven)
    let place = StorePlace(path: file, busyTimeout: max(0, configuration.busyTimeout), name: configuration.name)
    try place.checkFile(mayCreate: configuration.createsIfMissing)
    if configuration.createsIfMissing { try place.syncNamesIfNew() }
    return place
  }

  private static func directoryExists(_ directory: String, _ backend: String) throws -> Bool {
    do { return try PathParts.exists(directory) } catch { throw error.locating(backend: backend) }
  }

  /// SQLite says of a longer path only that it cannot open it.
  private static func checkLength(_ path: String, backend: String) throws {
    guard let system = sqlite3_vfs_find(nil) else { return }
    let limit = Int(system.pointee.mxPathname) - "-journal".utf8.count
    guard path.utf8.count > limit else { return }
    throw StorageError(
      .inputOutput, "The path of the store has \(path.utf8.count) bytes; SQLite takes up to \(limit).",
      advice: "Move the store to a shorter path. Nothing was changed.", backend: backend)
  }

  /// Makes the directory and those above it, for this user alone.
  private static func makeDirectory(_ directory: String, backend: String) throws {
    var status = stat()
    if stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
    let parent = URL(fileURLWithPath: directory).deletingLastPathComponent().path
    if errno == ENOENT, parent != directory {
      try makeDirectory(parent, backend: backend)
      try syncName(of: parent, backend: backend)
    }
    if mkdir(directory, 0o700) == 0 { return }
    var failure = errno
    if failure == EEXIST {
      if stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
      failure = ENOTDIR
    }
    let cause = StorageError.system("mkdir", path: directory, errno: failure, backend: backend)
    guard failure == ENOENT else { throw cause }
    throw StorageError(
      .inputOutput, "The directory of the store cannot be made.",
      advice: "Check the path: a part of it is a file, or its file system takes no directories.", backend: backend,
      underlying: cause.underlying)
  }

  private static func canonicalPath(
    of path: String, directory: String, name: String, backend: String
  ) throws -> String {
    if let whole = realpath(path, nil) {
      defer { free(whole) }
      return String(cString: whole)
    }
    guard let parent = realpath(directory, nil) else {
      throw StorageError.system("realpath", path: directory, errno: errno, backend: backend)
    }
    defer { free(parent) }
    let prefix = String(cString: parent)
    return (prefix == "/" ? "" : prefix) + "/" + name
  }

  /// Makes sure that there is a regular file which SQLite may open: what it would destroy silently is refused here.
  private func checkFile(mayCreate: Bool) throws {
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw StorageError.system("stat", path: path, errno: errno, backend: description) }
      return try create(mayCreate: mayCreate)
    }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw StorageError.system("open", path: path, errno: EISDIR, backend: description)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(
        .notAStore, "There is a device, pipe or socket where the database file should be.",
        advice: "Give the path of a file. Nothing was changed.", backend: description)
    }
    guard status.st_size == 0 else { return }
    try checkLeftovers("is empty, but it was not")
    if try size(of: wakePath) != nil { throw lost("is empty, but it was not", beside: "-wake") }
    guard mayCreate else { throw Schema.missing(description) }
  }

  private func create(mayCreate: Bool) throws {
    try checkLeftovers("is gone")
    guard mayCreate else { throw Schema.missing(description) }
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 || errno == EEXIST else {
      let failure = errno
      let cause = StorageError.system("open", path: path, errno: failure, backend: description)
      guard failure == ENOENT else { throw cause }
      throw StorageError(
        .inputOutput, "The store cannot be created at this path.",
        advice: "Check the path: its file system may take no new files.", backend: description,
        underlying: cause.underlying)
    }
    if file >= 0 { close(file) }
  }

  /// Beside a missing or empty database SQLite deletes the log, which may be all that is left of the data.
  private func checkLeftovers(_ what: String) throws {
    if let log = try size(of: logPath), log > 0 { throw lost(what, beside: "-wal") }
  }

  /// The size of a file; `nil` when there is none.
  private func size(of path: String) throws -> Int? {
    var status = stat()
    if stat(path, &status) == 0 { return Int(status.st_size) }
    guard errno == ENOENT else { throw StorageError.system("stat", path: path, errno: errno, backend: description) }
    return nil
  }

  private func lost(_ what: String, beside suffix: String) -> StorageError {
    StorageError(
      .damaged, "The database file \(what), and its \(suffix) file, which may hold the newest values, is still there.",
      advice:
        "Put the file back or restore a backup; move both away to start with an empty store. Nothing was changed.",
      backend: description)
  }
}
