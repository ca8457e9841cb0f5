package import Foundation

/// A buffer for key material and decrypted values. Passing it on does not copy its bytes. They are never printed, are
/// kept out of core dumps and, as far as the system permits, out of swap, and are overwritten when the last reference
/// is released.
package final class SecretBytes: Sendable {
  // Written only by init and wiped only by deinit, when there is no other reference to the object.
  private nonisolated(unsafe) let pages: SecretPages
  private var bytes: UnsafeMutableRawBufferPointer { pages.bytes }
  /// Called, in tests, with the memory after it was wiped and before it is freed.
  private let whenWiped: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  /// Creates a buffer of `count` zero bytes and calls `fill` to write them. They are wiped if it throws.
  package init(
    count: Int, whenWiped: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil,
    fill: (UnsafeMutableRawBufferPointer) throws -> Void
  ) throws {
    pages = SecretPages(count: count)
    self.whenWiped = whenWiped
    try fill(pages.bytes)
  }

  /// Copies bytes. The caller remains responsible for wiping the source.
  package init(copying source: UnsafeRawBufferPointer) {
    pages = SecretPages(count: source.count)
    whenWiped = nil
    pages.bytes.copyMemory(from: source)
    Cryptography.wipeRegisters()
  }

  /// Copies the bytes of a `Data`. Since `Data` cannot be wiped, use this only for bytes that exist as `Data` anyway.
  package init(copying data: Data) {
    pages = SecretPages(count: data.count)
    whenWiped = nil
    data.copyBytes(to: pages.bytes)
    Cryptography.wipeRegisters()
  }

  deinit {
    pages.wipe()
    whenWiped?(UnsafeRawBufferPointer(bytes))
    pages.free()
  }

  package var count: Int { bytes.count }

  /// Calls `body` with the bytes, which are valid only during the call. Any copy must be wiped as well.
  package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    // Otherwise the optimizer could release the object, and so wipe the bytes, before `body` returns.
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(bytes))
  }
}

extension SecretBytes: Equatable {
  /// Compares in constant time, so that the duration does not reveal where the bytes differ.
  package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in Cryptography.areEqual(left, right) }
    }
  }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "\(count) secret byte\(count == 1 ? "" : "s")" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
