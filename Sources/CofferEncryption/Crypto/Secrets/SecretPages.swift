import CofferCore
import Foundation

/// Memory pages that contain a single secret, locked so that they are never written to swap, and excluded from core
/// dumps (`mlock(2)`, `madvise(2)`). Each secret has its own pages, since both calls apply to whole pages.
struct SecretPages {
  /// The requested bytes; the rest of the last page is zero.
  let bytes: UnsafeMutableRawBufferPointer
  /// The size of the mapping in bytes, or zero if mapping failed and the bytes are on the heap.
  private let mappedCount: Int
  private static let pageSize = max(1, Int(sysconf(Int32(_SC_PAGESIZE))))
  private static let lastLockFailure = Locked(Int32(0))

  /// Allocates zeroed bytes. If locking fails, they are used unlocked and ``lockFailure`` is set.
  init(count: Int) {
    let whole = max(1, (count + Self.pageSize - 1) / Self.pageSize) * Self.pageSize
    let start = mmap(nil, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | Int32(MAP_ANONYMOUS), -1, 0)
    guard let start, start != MAP_FAILED else {
      bytes = .allocate(byteCount: count, alignment: 16)
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      mappedCount = 0
      Self.lastLockFailure.withLock { $0 = ENOMEM }
      return
    }
    if mlock(start, whole) != 0 {
      let failure = errno
      Self.lastLockFailure.withLock { $0 = failure }
    }
    #if os(Linux)
      madvise(start, whole, Int32(MADV_DONTDUMP))
    #endif
    bytes = UnsafeMutableRawBufferPointer(start: start, count: count)
    mappedCount = whole
  }

  func wipe() { Cryptography.wipe(bytes) }

  func free() {
    guard mappedCount > 0 else { return bytes.deallocate() }
    munmap(bytes.baseAddress, mappedCount)  // unlocks, too
  }

  /// The `errno` of the last failure to lock a secret in this process, or 0.
  static var lockFailure: Int32 { lastLockFailure.withLock { $0 } }
}

/// Diagnostics of the memory of secrets.
package enum SecretMemory {
  /// Returns the `errno` of an attempt to lock a secret of `count` bytes now, or 0 if it succeeds.
  package static func lockFailure(count: Int) -> Int32 {
    let pages = SecretPages(count: count)
    defer { pages.free() }
    let isLocked = mlock(pages.bytes.baseAddress, pages.bytes.count) == 0
    return isLocked ? 0 : errno
  }

  /// The `errno` of the last failure to lock a secret in this process, or 0.
  package static var lastLockFailure: Int32 { SecretPages.lockFailure }

  /// The number of bytes that this process may lock, or `nil` if it is not limited.
  package static var lockLimit: Int? {
    var limit = rlimit()
    #if canImport(Darwin)
      guard getrlimit(RLIMIT_MEMLOCK, &limit) == 0 else { return nil }
    #else
      guard getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0 else { return nil }
    #endif
    return limit.rlim_cur >= rlim_t(Int.max) ? nil : Int(limit.rlim_cur)
  }
}
