import Foundation

/// Writes all bytes; the `errno` of what failed, or 0.
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

/// Gives a file room for so many bytes; the `errno` of what failed, or 0. Where a file system cannot do that, nothing
/// is done.
func allocate(_ file: Int32, _ count: Int) -> Int32 {
  #if canImport(Darwin)
    return 0
  #else
    let code = posix_fallocate(file, 0, off_t(max(1, count)))
    return code == EINVAL || code == EOPNOTSUPP ? 0 : code
  #endif
}

/// Has the device confirm what was written; the `errno` of what failed, or 0.
func flush(_ file: Int32) -> Int32 {
  #if canImport(Darwin)
    // `fsync` alone leaves the bytes in the device's own memory there; file systems that cannot do more say so.
    if fcntl(file, F_FULLFSYNC) == 0 { return 0 }
  #endif
  return fsync(file) == 0 ? 0 : errno
}
