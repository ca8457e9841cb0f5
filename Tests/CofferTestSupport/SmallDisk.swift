import CofferTesting
import Foundation

/// A small `tmpfs` file system, unmounted when this object is deallocated.
package final class SmallDisk: Sendable {
  package let path: String

  /// Mounts a file system; `nil` if the user lacks the permission.
  package init?(at path: String, size: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0 else { return nil }
    self.path = path
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }

  package func resize(to size: String) throws {
    guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(size)") == 0 else { throw TestFailure("remount") }
  }

  /// Takes all space that is left.
  package func fill() throws {
    let file = open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw TestFailure("open: \(String(cString: strerror(errno)))") }
    defer { close(file) }
    let zeros = [UInt8](repeating: 0, count: 4_096)
    while write(file, zeros, zeros.count) > 0 {}
  }

  /// Remounts the file system read-only.
  package func makeReadOnly() throws {
    // A process that another test has just forked shares the open files until it calls exec.
    try blockUntil("the files are closed") {
      if mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 { return true }
      guard errno == EBUSY else { throw TestFailure("remount: \(String(cString: strerror(errno)))") }
      return false
    }
  }
}

/// A read-only bind mount of a directory at a second path, unmounted when this object is deallocated.
package final class ReadOnlyMount: Sendable {
  package let path: String

  /// Mounts the directory; `nil` if the user lacks the permission.
  package init?(of source: String, at path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount(source, path, nil, UInt(MS_BIND), nil) == 0 else { return nil }
    self.path = path
    guard mount(nil, path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0 else { return nil }
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }
}
