import CofferCShims
import CofferCore
import CofferFileSystem
import Foundation

/// A temporary file that is written beside its final path and renamed to it when it is complete.
///
/// The file is locked, so there is at most one for each final path. The remains of a killed process are removed by the
/// next one.
struct StagedFile {
  /// The final path.
  let path: String
  /// The path of the temporary file, in the same directory.
  let temporaryPath: String
  private let directory: String
  private let location: String
  private let lock: LockFile

  /// The suffixes of the file and of the files that SQLite and a store keep beside it.
  private static let suffixes = ["", "-journal", "-wal", "-shm", "-wake", "-lock"]

  /// Creates an empty temporary file that only this user can access. The directory must exist.
  /// - Parameters:
  ///   - path: the final path, in a canonical directory.
  ///   - suffix: the suffix of the temporary file's name.
  ///   - location: the location that errors name.
  /// - Throws: `StorageError`: `busy` if another process is writing the same file.
  init(for path: String, suffix: String, location: String) throws {
    let url = URL(fileURLWithPath: path)
    self.path = path
    self.location = location
    directory = url.deletingLastPathComponent().path
    temporaryPath = directory + "/." + url.lastPathComponent + suffix
    lock = try Self.begin(temporaryPath, location)
  }

  private static func begin(_ temporaryPath: String, _ location: String) throws -> LockFile {
    while true {
      guard let lock = try LockFile(temporaryPath, .exclusive, location: location) else {
        throw StorageError(
          .busy, "Another process is writing this file.", advice: "Try again when it has finished.",
          location: location)
      }
      guard lock.isAtPath else { continue }
      var status = stat()
      if lstat(temporaryPath, &status) == 0, status.st_size == 0, status.st_nlink == 1 { return lock }
      for suffix in Self.suffixes { unlink(temporaryPath + suffix) }
    }
  }

  /// Removes the temporary file, unless it was published.
  func discard() {
    guard lock.isAtPath else { return }
    for suffix in Self.suffixes { unlink(temporaryPath + suffix) }
  }

  /// Syncs the content of the file to disk.
  func sync() throws {
    let descriptor = open(temporaryPath, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open", temporaryPath) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("fsync", temporaryPath) }
  }

  /// Renames the file to its final path atomically, and syncs the directory.
  /// - Parameter overwrites: whether an existing file is replaced; otherwise it is an error.
  func publish(overwriting overwrites: Bool) throws {
    if overwrites {
      guard rename(temporaryPath, path) == 0 else { throw failure("rename", path) }
    } else if coffer_rename(AT_FDCWD, temporaryPath, path, coffer_rename_no_replace) != 0 {
      guard errno == EINVAL || errno == ENOSYS else {
        throw errno == EEXIST ? Self.exists(path, location) : failure("rename", path)
      }
      // The file system does not support a rename that never replaces.
      guard access(path, F_OK) != 0 else { throw Self.exists(path, location) }
      guard rename(temporaryPath, path) == 0 else { throw failure("rename", path) }
    }
    try syncDirectory()
  }

  /// Exchanges the file with the one at its final path atomically, and keeps that one under the name `kept`.
  func exchange(keepingReplacedAs kept: String) throws {
    guard
      coffer_rename(AT_FDCWD, temporaryPath, kept, coffer_rename_no_replace) == 0 || rename(temporaryPath, kept) == 0
    else { throw failure("rename", kept) }
    guard coffer_rename(AT_FDCWD, kept, path, coffer_rename_exchange) == 0 else {
      let error = failure("rename", path)
      rename(kept, temporaryPath)
      throw error
    }
    try syncDirectory()
  }

  private func syncDirectory() throws {
    do { try OpenDirectory.sync(directory) } catch { throw error.locating(at: location) }
  }

  private func failure(_ call: String, _ path: String) -> StorageError {
    .system(call, path: path, errno: errno, location: location)
  }

  static func exists(_ path: String, _ location: String) -> StorageError {
    StorageError(
      .preconditionFailed, "A file already exists at \(path.escapingControlCharacters).",
      advice: "Give another name, or allow it to be overwritten. Nothing was changed.", location: location)
  }
}
