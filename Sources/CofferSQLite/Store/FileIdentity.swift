import CofferCore
import Foundation

/// The device and inode of a file. Two paths with the same identity are the same store.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  /// Creates the identity of the file at `path`, following symbolic links; `nil` if it cannot be looked up.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }
}
