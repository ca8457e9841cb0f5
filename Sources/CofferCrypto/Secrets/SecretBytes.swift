import CofferCOpenSSL
package import Foundation

/// Key material, and values that were decrypted. It is never copied by passing it on, never printed, kept out of swap
/// (as far as the system lets us) and core dumps, and overwritten when its last holder releases it.
package final class SecretBytes: Sendable {
  // Written by init alone, before anybody else has the object, and wiped by deinit, when nobody has it any more.
  private nonisolated(unsafe) let pages: SecretPages
  private var bytes: UnsafeMutableRawBufferPointer { pages.bytes }
  /// For tests, which see the memory after it was wiped and before it is given back.
  private let whenWiped: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  /// So many bytes, zero until `fill` writes them. They are wiped when it throws.
  package init(
    count: Int, whenWiped: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil,
    fill: (UnsafeMutableRawBufferPointer) throws -> Void
  ) throws {
    pages = SecretPages(count: count)
    self.whenWiped = whenWiped
    try fill(pages.bytes)
  }

  /// A copy. Where it came from is its holder's to wipe.
  package init(copying source: UnsafeRawBufferPointer) {
    pages = SecretPages(count: source.count)
    whenWiped = nil
    pages.bytes.copyMemory(from: source)
  }

  /// A copy. `Data` cannot be wiped: use this for what was there as `Data` anyway.
  package init(copying data: Data) {
    pages = SecretPages(count: data.count)
    whenWiped = nil
    data.copyBytes(to: pages.bytes)
  }

  deinit {
    pages.wipe()
    whenWiped?(UnsafeRawBufferPointer(bytes))
    pages.free()
  }

  package var count: Int { bytes.count }

  /// The bytes, for the time of the call. Copy nothing out of it that is not wiped too.
  package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    // Without it, the optimizer could wipe the bytes after the last use of the object and before the body's end.
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(bytes))
  }
}

extension SecretBytes: Equatable {
  /// Takes as long for bytes that differ at once as for those that do not, so that time does not tell where they do.
  package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard left.count == right.count else { return false }
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return CRYPTO_memcmp(first, second, left.count) == 0
      }
    }
  }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "\(count) secret byte\(count == 1 ? "" : "s")" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
