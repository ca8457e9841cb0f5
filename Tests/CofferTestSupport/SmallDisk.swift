import Foundation

/// A real file system of a few megabytes in memory, unmounted when this object goes.
package final class SmallDisk: Sendable {
  package let path: String

  /// `nil` where this user may not mount one.
  package init?(at path: String, size: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0 else { return nil }
    self.path = path
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }

  package func resize(to size: String) throws {
    guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(size)") == 0 else { throw TestFailure("remount") }
  }

  /// Lets nobody write to it any more.
  package func makeReadOnly() throws {
    // A program that another test starts just now has our open files until it executes.
    for _ in 0..<1_000 {
      if mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 { return }
      guard errno == EBUSY else { break }
      usleep(10_000)
    }
    throw TestFailure("remount: \(String(cString: strerror(errno)))")
  }
}

/// A directory that can be read in a second place, and be written only in the first; undone when this object goes.
package final class ReadOnlyMount: Sendable {
  package let path: String

  /// `nil` where this user may not mount one.
  package init?(of source: String, at path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount(source, path, nil, UInt(MS_BIND), nil) == 0 else { return nil }
    self.path = path
    guard mount(nil, path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0 else { return nil }
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }
}
