package import Foundation

/// A part of a secret, such as one of several values that were decrypted together. It keeps the whole secret alive.
package struct SecretSlice: Sendable {
  private let whole: SecretBytes
  private let range: Range<Int>

  /// Creates a slice of a secret; `range` is clamped to its bounds.
  package init(_ whole: SecretBytes, _ range: Range<Int>) {
    self.whole = whole
    self.range = range.clamped(to: 0..<whole.count)
  }

  /// Creates a secret by copying the bytes of a `Data`.
  package init(copying data: Data) { self.init(SecretBytes(copying: data), 0..<data.count) }

  package var count: Int { range.count }

  /// Returns this slice and one that follows it in the same secret as one; `nil` if the other one does not.
  package func joined(with next: SecretSlice) -> SecretSlice? {
    guard next.whole === whole, next.range.lowerBound == range.upperBound else { return nil }
    return SecretSlice(whole, range.lowerBound..<next.range.upperBound)
  }

  /// Calls `body` with the bytes, which are valid only during the call.
  package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try whole.withUnsafeBytes { (bytes) throws(E) in try body(UnsafeRawBufferPointer(rebasing: bytes[range])) }
  }

  /// A copy in ordinary memory, for the caller of the store. It is wiped when the last reference is released; copies
  /// that the caller makes are not.
  package var copy: Data {
    withUnsafeBytes { bytes in
      (try? Data(writing: bytes.count, isSecret: true) { $0.copyMemory(from: bytes) }) ?? Data(bytes)
    }
  }
}

extension SecretSlice: Equatable {
  package static func == (left: SecretSlice, right: SecretSlice) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in Cryptography.areEqual(left, right) }
    }
  }
}

extension SecretSlice: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(count) secret byte\(count == 1 ? "" : "s")" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
