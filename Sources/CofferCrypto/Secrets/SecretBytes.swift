import CofferCOpenSSL
package import Foundation

/// Key material. It is never copied by passing it on, never printed, and overwritten when its last holder lets go.
package final class SecretBytes: Sendable {
  // Written by init alone, before anybody else has the object, and wiped by deinit, when nobody has it any more.
  private nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer
  /// For tests, which see the memory after it was wiped and before it is given back.
  private let whenWiped: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  /// So many bytes, zero until `fill` writes them. They are wiped when it throws.
  package init(
    count: Int, whenWiped: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil,
    fill: (UnsafeMutableRawBufferPointer) throws -> Void
  ) throws {
    bytes = .allocate(byteCount: count, alignment: 16)
    self.whenWiped = whenWiped
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
    try fill(bytes)
  }

  /// A copy. Where it came from is its holder's to wipe.
  package init(copying source: UnsafeRawBufferPointer) {
    bytes = .allocate(byteCount: source.count, alignment: 16)
    whenWiped = nil
    bytes.copyMemory(from: source)
  }

  /// A copy. `Data` cannot be wiped: use this for what was there as `Data` anyway.
  package init(copying data: Data) {
    bytes = .allocate(byteCount: data.count, alignment: 16)
    whenWiped = nil
    data.copyBytes(to: bytes)
  }

  deinit {
    OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    whenWiped?(UnsafeRawBufferPointer(bytes))
    bytes.deallocate()
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
