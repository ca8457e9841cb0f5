import CofferCShims
import CofferCore
import CofferFileSystem
import Foundation

/// A file or directory that is locked for the lifetime of this object; the kernel releases the lock when the process
/// ends.
///
/// The lock belongs to the open file description (`flock(2)`), so two instances in one process exclude each other, too.
package final class LockFile: Sendable {
  package enum Mode: Sendable {
    case shared, exclusive
    /// An exclusive lock, waiting at most this many milliseconds for other holders.
    case patient(milliseconds: Int)
  }

  let path: String
  private let descriptor: Int32

  /// Locks the file, creating it if it is missing; `nil` if a conflicting lock is held.
  /// - Throws: The error of `open(2)` or `flock(2)`.
  /// - Parameter owned: the path of the file to whose owner a new lock file of root belongs, as for
  ///   ``FileCreation/open(_:_:like:)``.
  package convenience init?(_ path: String, _ mode: Mode, location: String, like owned: String? = nil) throws {
    try self.init(FileCreation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, like: owned), path, mode, location)
  }

  /// Locks an existing directory, so that no file is created; `nil` if a conflicting lock is held.
  package convenience init?(directory path: String, _ mode: Mode, location: String) throws {
    try self.init(open(path, Self.directoryFlags), path, mode, location)
  }

  private static let directoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW

  /// Takes ownership of a descriptor; -1 with an `errno` is an error.
  private init?(_ descriptor: Int32, _ path: String, _ mode: Mode, _ location: String) throws {
    self.path = path
    guard descriptor >= 0 else { throw StorageError.system("open", path: path, errno: errno, location: location) }
    guard Self.lock(descriptor, mode) else {
      let failure = errno
      Foundation.close(descriptor)
      guard failure == EWOULDBLOCK else {
        throw StorageError.system("flock", path: path, errno: failure, location: location)
      }
      return nil
    }
    self.descriptor = descriptor
  }

  private static func lock(_ descriptor: Int32, _ mode: Mode) -> Bool {
    switch mode {
    case .exclusive: return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    case .shared:
      // Where locks are shared, exclusive ones are held only briefly, so this wait is short.
      while flock(descriptor, LOCK_SH) != 0 {
        guard errno == EINTR else { return false }
      }
      return true
    case .patient(let milliseconds):
      var wait = LockWait(milliseconds: milliseconds)
      repeat {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else { return false }
      } while wait.pause()
      errno = EWOULDBLOCK
      return false
    }
  }

  deinit { Foundation.close(descriptor) }

  /// Whether the path still refers to the locked file.
  package var isAtPath: Bool {
    var mine = stat()
    var present = stat()
    return fstat(descriptor, &mine) == 0 && lstat(path, &present) == 0 && mine.st_ino == present.st_ino
  }

  /// Deletes the file while it is locked, so that no other process can mistake it for one in use.
  package func remove() { unlink(path) }

  /// Whether the lock of an existing file is held. A file that cannot be opened counts as held.
  package static func isHeld(_ path: String) -> Bool { isHeld(open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) }

  /// Whether the lock of a directory is held.
  package static func isHeld(directory path: String) -> Bool { isHeld(open(path, directoryFlags)) }

  private static func isHeld(_ descriptor: Int32) -> Bool {
    guard descriptor >= 0 else { return errno != ENOENT }
    defer { Foundation.close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) != 0
  }
}
