import CofferCShims
import Foundation

/// Writes all bytes. Returns the `errno` of a failure, or 0.
func writeAll(_ data: Data, to file: Int32) -> Int32 {
  data.withUnsafeBytes { bytes in
    var rest = bytes[...]
    while !rest.isEmpty {
      // Some systems refuse to write two gigabytes at once.
      let part = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
      let count = write(file, part.baseAddress, part.count)
      if count < 0 && errno != EINTR { return errno }
      rest = rest.dropFirst(max(0, count))
    }
    return 0
  }
}

/// Begins to write the bytes of a file to the device, where the system can do so without waiting for them.
func beginFlush(_ file: Int32) {
  #if os(Linux)
    coffer_begin_sync(file)
  #endif
}

/// Syncs a file to the device. Returns the `errno` of a failure, or 0.
func flush(_ file: Int32) -> Int32 {
  #if canImport(Darwin)
    // `fsync` alone leaves the bytes in the device's cache; file systems without `F_FULLFSYNC` return an error.
    if fcntl(file, F_FULLFSYNC) == 0 { return 0 }
  #endif
  return fsync(file) == 0 ? 0 : errno
}

extension Directory {
  /// Replaces a file by another one of this directory, as ``rename(_:to:in:)`` does, but by exchanging them first: ext4
  /// writes a new file to the device at once when it is renamed to the name of another.
  package func exchange(_ name: String, replacing target: String) throws {
    guard coffer_rename(descriptor, name, target, coffer_rename_exchange) == 0 else {
      return try rename(name, to: target, in: self)  // There is no other yet, or the file system does not support it.
    }
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      let failure = failure("rename", target)
      _ = coffer_rename(descriptor, name, target, coffer_rename_exchange)  // It was a directory, say, and stays.
      throw failure
    }
  }
}
