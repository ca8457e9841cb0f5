import CofferCOpenSSL
package import Foundation

/// A part of a secret, such as one of several values that were decrypted together. It keeps the whole secret alive.
package struct SecretSlice: Sendable {
  private let whole: SecretBytes
  private let range: Range<Int>

  /// The part of a secret; `range` must be within it.
  package init(_ whole: SecretBytes, _ range: Range<Int>) {
    self.whole = whole
    self.range = range.clamped(to: 0..<whole.count)
  }

  /// A copy, in memory of its own.
  package init(copying data: Data) { self.init(SecretBytes(copying: data), 0..<data.count) }

  package var count: Int { range.count }

  /// The bytes, for the time of the call.
  package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try whole.withUnsafeBytes { (bytes) throws(E) in try body(UnsafeRawBufferPointer(rebasing: bytes[range])) }
  }

  /// A copy in ordinary memory, for the program that asked for the value. It is wiped when its last holder releases it;
  /// what the program makes of it is the program's.
  package var copy: Data {
    withUnsafeBytes { bytes in
      guard !bytes.isEmpty, let copy = malloc(bytes.count) else { return Data(bytes) }
      UnsafeMutableRawBufferPointer(start: copy, count: bytes.count).copyMemory(from: bytes)
      return Data(
        bytesNoCopy: copy, count: bytes.count,
        deallocator: .custom { copy, count in
          OPENSSL_cleanse(copy, count)
          free(copy)
        })
    }
  }
}

extension SecretSlice: Equatable {
  package static func == (left: SecretSlice, right: SecretSlice) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in left.count == right.count && left.elementsEqual(right) }
    }
  }
}

extension SecretSlice: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(count) secret byte\(count == 1 ? "" : "s")" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
