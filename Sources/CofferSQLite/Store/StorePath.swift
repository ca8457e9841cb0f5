import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

extension StoreFile {
  /// Resolves a path to the canonical file of a store, which is the same for every spelling of the path.
  ///
  /// Creates the directory (0700) and an empty file (0600) if they are missing and the store may be created.
  /// - Parameter isForReading: whether a database without a log, such as a backup, may have several names.
  static func resolve(
    _ path: String, configuration: SQLiteEngine.Configuration, isForReading: Bool = false
  ) throws -> StoreFile {
    let asGiven = configuration.name ?? "sqlite:\(path)"
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StorageError(
        .inputOutput, "The path of the store is empty or contains a NUL byte.", advice: "Give the path of a file.",
        location: asGiven)
    }
    let url = URL(fileURLWithPath: path)
    let directory = url.deletingLastPathComponent().path
    // Checked before anything is created: a dangling symbolic link must not result in an empty store.
    let isThere: Bool
    do { isThere = try PathParts.exists(url.path) } catch { throw error.locating(at: asGiven) }
    if configuration.createsIfMissing { try makeDirectory(directory, location: asGiven) }
    guard try isThere || configuration.createsIfMissing || directoryExists(directory, asGiven) else {
      throw Schema.missing(asGiven)
    }
    let path = try canonicalPath(of: url.path, directory: directory, name: url.lastPathComponent, location: asGiven)
    try checkLength(path, location: asGiven)
    let file = StoreFile(path: path, busyTimeout: max(0, configuration.busyTimeout), name: configuration.name)
    try file.checkFile(mayCreate: configuration.createsIfMissing)
    try file.requireSingleNames(isForReading: isForReading)
    if configuration.createsIfMissing { try file.syncNamesIfNew() }
    return file
  }

  private static func directoryExists(_ directory: String, _ location: String) throws -> Bool {
    do { return try PathParts.exists(directory) } catch { throw error.locating(at: location) }
  }

  /// Checks the length of a path, since SQLite reports a path that is too long only as one that it cannot open.
  private static func checkLength(_ path: String, location: String) throws {
    guard let system = sqlite3_vfs_find(nil) else { return }
    let limit = Int(system.pointee.mxPathname) - "-journal".utf8.count
    guard path.utf8.count > limit else { return }
    throw StorageError(
      .inputOutput, "The path of the store has \(path.utf8.count) bytes; SQLite accepts at most \(limit).",
      advice: "Move the store to a shorter path. Nothing was changed.", location: location)
  }

  /// Creates a directory and its missing parents, accessible to this user only.
  private static func makeDirectory(_ directory: String, location: String) throws {
    var status = stat()
    if stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
    let parent = URL(fileURLWithPath: directory).deletingLastPathComponent().path
    if errno == ENOENT, parent != directory {
      try makeDirectory(parent, location: location)
      try syncName(of: parent, location: location)
    }
    if FileCreation.makeDirectory(directory) == 0 { return }
    var failure = errno
    if failure == EEXIST {
      if stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
      failure = ENOTDIR
    }
    throw StorageError.creation("mkdir", path: directory, errno: failure, location: location)
  }

  private static func canonicalPath(
    of path: String, directory: String, name: String, location: String
  ) throws -> String {
    if let whole = realpath(path, nil) {
      defer { free(whole) }
      return String(cString: whole)
    }
    guard let parent = realpath(directory, nil) else {
      throw StorageError.system("realpath", path: directory, errno: errno, location: location)
    }
    defer { free(parent) }
    let prefix = String(cString: parent)
    return (prefix == "/" ? "" : prefix) + "/" + name
  }

  /// Checks that the path leads to a regular file that SQLite may open, or creates one.
  ///
  /// Files that SQLite would silently delete or overwrite are an error here.
  private func checkFile(mayCreate: Bool) throws {
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw StorageError.system("stat", path: path, errno: errno, location: description) }
      return try create(mayCreate: mayCreate)
    }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw StorageError.system("open", path: path, errno: EISDIR, location: description)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(
        .notAStore, "There is a device, pipe or socket where the database file should be.",
        advice: "Give the path of a file. Nothing was changed.", location: description)
    }
    guard status.st_size == 0 else { return }
    // A rollback journal beside it is that of a creation: one that was killed, or another process's.
    let isLost = try size(of: logPath) ?? 0 > 0 || size(of: wakePath) != nil
    if isLost, try size(of: path) == 0 {
      throw lost("is empty, but it was not before", beside: try size(of: logPath) ?? 0 > 0 ? "-wal" : "-wake")
    }
    guard mayCreate else { throw Schema.missing(description) }
  }

  private func create(mayCreate: Bool) throws {
    try checkLeftovers()
    guard mayCreate else { throw Schema.missing(description) }
    removeWriteLogs()
    let leftovers = [wakePath, logPath, sharedMemoryPath]
    guard try leftovers.contains(where: { try size(of: $0) != nil }) else { return try createEmpty() }
    // The files of a deleted database hold no data. But its wake-up file would make the new one look like an emptied
    // one, and a process that still has it open would share its log with the new one. The lock keeps them from being
    // mistaken for those that another process creates meanwhile.
    guard let lock = try checkpointLock(.patient(milliseconds: busyTimeout)) else {
      throw StorageError(
        .busy, "Another process is creating a store at this path, or still uses the one that was deleted there.",
        advice: "Try again, or end that process. Nothing was changed.", location: description)
    }
    try withExtendedLifetime(lock) {
      guard try size(of: path) == nil else { return }
      try checkLeftovers()
      try WakeFile.remove(of: self)
      for leftover in [logPath, sharedMemoryPath] where unlink(leftover) != 0 && errno != ENOENT {
        throw StorageError.system("unlink", path: leftover, errno: errno, location: description)
      }
      // A removal that a power loss undoes would make the empty database look like an emptied one.
      try OpenDirectory.sync(PathParts(path).parent)
      try createEmpty()
    }
  }

  private func createEmpty() throws {
    let file = FileCreation.open(path, O_RDWR | O_EXCL | O_CLOEXEC)
    guard file >= 0 || errno == EEXIST else {
      throw StorageError.creation("open", path: path, errno: errno, location: description)
    }
    if file >= 0 { close(file) }
  }

  /// Checks that no log is left beside a missing database: SQLite would delete it, although it may hold all that is
  /// left of the data.
  func checkLeftovers() throws {
    for suffix in ["-wal", "-journal"] {
      guard let log = try size(of: path + suffix), log > 0, try size(of: path) == nil else { continue }
      throw lost("is missing", beside: suffix)
    }
  }

  /// Returns the size of a file in bytes, or `nil` if there is none.
  func size(of path: String) throws -> Int? {
    var status = stat()
    if stat(path, &status) == 0 { return Int(status.st_size) }
    guard errno == ENOENT else { throw StorageError.system("stat", path: path, errno: errno, location: description) }
    return nil
  }

  private func lost(_ what: String, beside suffix: String) -> StorageError {
    StorageError(
      .damaged, "The database file \(what), but its \(suffix) file, which may hold the newest values, still exists.",
      advice:
        "Put the file back or restore a backup; move both away to start with an empty store. Nothing was changed.",
      location: description)
  }
}
