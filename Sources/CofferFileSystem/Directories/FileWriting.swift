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

/// Allocates disk space for `count` bytes of a file. Returns the `errno` of a failure, or 0, also if the file system
/// does not support it.
func allocate(_ file: Int32, _ count: Int) -> Int32 {
  #if canImport(Darwin)
    return 0
  #else
    let code = posix_fallocate(file, 0, off_t(max(1, count)))
    return code == EINVAL || code == EOPNOTSUPP ? 0 : code
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
