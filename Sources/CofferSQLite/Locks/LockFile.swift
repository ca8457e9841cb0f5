import CofferCore
import Foundation

/// A file that is locked as long as this object lives; the kernel lets go when the process dies, however it dies.
///
/// The lock belongs to the open file (`flock(2)`), so two of these in one process exclude each other, too.
package final class LockFile: Sendable {
  package enum Mode: Sendable {
    case shared, exclusive
    /// Exclusive, after waiting for others for so many milliseconds at most.
    case patient(milliseconds: Int)
  }

  let path: String
  private let descriptor: Int32

  /// Locks the file, making it if it is missing; `nil` when somebody else's lock is in the way.
  package init?(_ path: String, _ mode: Mode, backend: String) throws {
    self.path = path
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw StorageError.system("open", path: path, errno: errno, backend: backend) }
    guard Self.lock(descriptor, mode) else {
      let failure = errno
      Foundation.close(descriptor)
      guard failure == EWOULDBLOCK else {
        throw StorageError.system("flock", path: path, errno: failure, backend: backend)
      }
      return nil
    }
    self.descriptor = descriptor
  }

  private static func lock(_ descriptor: Int32, _ mode: Mode) -> Bool {
    switch mode {
    case .exclusive: return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    case .shared:
      // Exclusive locks are held for an instant only where others share, so waiting for a shared one is short.
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

  /// Whether the path still leads to the locked file.
  package var isAtPath: Bool {
    var mine = stat()
    var present = stat()
    return fstat(descriptor, &mine) == 0 && lstat(path, &present) == 0 && mine.st_ino == present.st_ino
  }

  /// Deletes the file while it is locked, so that nobody can take it for a live one.
  package func remove() { unlink(path) }

  /// Whether somebody holds the lock of an existing file. What cannot be looked at is taken for held.
  package static func isHeld(_ path: String) -> Bool {
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return errno != ENOENT }
    defer { Foundation.close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) != 0
  }
}
