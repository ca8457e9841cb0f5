import CofferCShims
import CofferCore
import CofferFileSystem
import Foundation

/// A file that is made beside its place and put there when it is whole.
///
/// One at a time for each place: it is locked. What a killed process has left of it is removed by the next.
struct StagedFile {
  /// Where it is to be.
  let path: String
  /// Where it is made.
  let staged: String
  private let directory: String
  private let backend: String
  private let lock: LockFile

  /// Of the file and of what SQLite and a store have beside it.
  private static let suffixes = ["", "-journal", "-wal", "-shm", "-wake", "-lock"]

  /// Begins an empty file for this user alone. The directory must exist.
  /// - Parameters:
  ///   - path: its place, in a canonical directory.
  ///   - suffix: what it is called by until then.
  init(for path: String, suffix: String, backend: String) throws {
    let url = URL(fileURLWithPath: path)
    self.path = path
    self.backend = backend
    directory = url.deletingLastPathComponent().path
    staged = directory + "/." + url.lastPathComponent + suffix
    lock = try Self.begin(staged, backend)
  }

  private static func begin(_ staged: String, _ backend: String) throws -> LockFile {
    while true {
      guard let lock = try LockFile(staged, .exclusive, backend: backend) else {
        throw StorageError(
          .busy, "Another process is writing this file just now.", advice: "Try again when it is done.",
          backend: backend)
      }
      guard lock.isAtPath else { continue }
      var status = stat()
      if lstat(staged, &status) == 0, status.st_size == 0, status.st_nlink == 1 { return lock }
      for suffix in Self.suffixes { unlink(staged + suffix) }
    }
  }

  /// Removes it, unless it was put into its place.
  func discard() {
    guard lock.isAtPath else { return }
    for suffix in Self.suffixes { unlink(staged + suffix) }
  }

  /// Returns when its content has survived power loss.
  func sync() throws {
    let descriptor = open(staged, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open", staged) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("fsync", staged) }
  }

  /// Puts it into its place, of which nobody ever sees half, and syncs the directory.
  /// - Parameter overwrites: whether a file that is there is replaced; else that is an error.
  func place(overwriting overwrites: Bool) throws {
    if overwrites {
      guard rename(staged, path) == 0 else { throw failure("rename", path) }
    } else if coffer_rename(staged, path, coffer_rename_no_replace) != 0 {
      guard errno == EINVAL || errno == ENOSYS else {
        throw errno == EEXIST ? Self.exists(path, backend) : failure("rename", path)
      }
      // The file system cannot refuse by itself.
      guard access(path, F_OK) != 0 else { throw Self.exists(path, backend) }
      guard rename(staged, path) == 0 else { throw failure("rename", path) }
    }
    try syncDirectory()
  }

  /// Puts it into its place and what was there under another name, both at once.
  func exchange(keepingReplacedAs kept: String) throws {
    guard coffer_rename(staged, kept, coffer_rename_no_replace) == 0 || rename(staged, kept) == 0 else {
      throw failure("rename", kept)
    }
    guard coffer_rename(kept, path, coffer_rename_exchange) == 0 else {
      let error = failure("rename", path)
      rename(kept, staged)
      throw error
    }
    try syncDirectory()
  }

  private func syncDirectory() throws {
    do { try OpenDirectory.sync(directory) } catch { throw error.locating(backend: backend) }
  }

  private func failure(_ call: String, _ path: String) -> StorageError {
    .system(call, path: path, errno: errno, backend: backend)
  }

  static func exists(_ path: String, _ backend: String) -> StorageError {
    StorageError(
      .preconditionFailed, "There is a file at \(path.escapingControlCharacters) already.",
      advice: "Give another name, or allow it to be overwritten. Nothing was changed.", backend: backend)
  }
}
