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
