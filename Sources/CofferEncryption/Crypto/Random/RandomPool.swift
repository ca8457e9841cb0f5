import CofferCore
import Foundation

/// Random bytes for salts and nonces, which are public, drawn from the library 4 KiB at a time: 24 bytes from OpenSSL
/// take as long as sealing a small value.
///
/// A forked child never uses the bytes of its parent: the kernel clears the page of the pool in the child
/// (`MADV_WIPEONFORK`), the number of unused bytes with it, so that the child draws its own. OpenSSL's generator seeds
/// itself again in a child. Without support of the kernel, nothing is kept.
final class RandomPool: Sendable {
  static let shared = RandomPool()

  /// Larger requests go to the library directly.
  private static let largestRequest = 64
  private static let size = 4_096
  /// The page begins with the number of unused bytes, which are at its end.
  private static let reserved = MemoryLayout<Int>.size

  /// A page of memory. Unchecked since it is accessed only while the lock is held; it is never unmapped.
  private struct Page: @unchecked Sendable {
    let start: UnsafeMutableRawPointer
  }

  /// The page, or `nil` if the kernel cannot clear it in children.
  private let page: Locked<Page?>

  private init() { page = Locked(Self.makePage().map { Page(start: $0) }) }

  /// Fills a buffer with random bytes that nobody else receives.
  func fill(_ bytes: UnsafeMutableRawBufferPointer) throws(StorageError) {
    let isServed = try page.withLock { page throws(StorageError) in
      guard let page, bytes.count <= Self.largestRequest else { return false }
      try Self.take(bytes, from: page.start)
      return true
    }
    if !isServed { try Cryptography.fillWithRandomBytes(bytes, isSecret: false) }
  }

  private static func take(
    _ bytes: UnsafeMutableRawBufferPointer, from page: UnsafeMutableRawPointer
  ) throws(StorageError) {
    var unused = page.load(as: Int.self)
    if unused < bytes.count {
      let all = UnsafeMutableRawBufferPointer(start: page + reserved, count: size - reserved)
      try Cryptography.fillWithRandomBytes(all, isSecret: false)
      unused = all.count
    }
    bytes.copyMemory(from: UnsafeRawBufferPointer(start: page + size - unused, count: bytes.count))
    page.storeBytes(of: unused - bytes.count, as: Int.self)
  }

  private static func makePage() -> UnsafeMutableRawPointer? {
    #if os(Linux)
      let page = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | Int32(MAP_ANONYMOUS), -1, 0)
      guard let page, page != MAP_FAILED else { return nil }
      guard madvise(page, size, Int32(MADV_WIPEONFORK)) == 0 else {
        munmap(page, size)
        return nil
      }
      return page
    #else
      return nil
    #endif
  }
}
