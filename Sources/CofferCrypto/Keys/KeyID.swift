package import Foundation

/// The id of a data key: the HMAC-SHA-256 of a fixed label under the key, 32 bytes.
///
/// It reveals nothing about the key and commits to it: two keys with the same id would be a collision of SHA-256. An
/// envelope names its key by this id, so no ciphertext can be opened with two keys.
package struct KeyID: Hashable, Sendable {
  package static let count = 32

  /// The id: 32 bytes.
  package let bytes: Data

  /// Creates an id from its bytes, or returns `nil` if they are not 32.
  package init?(_ bytes: Data) {
    guard bytes.count == Self.count else { return nil }
    self.bytes = Data(bytes)
  }

  /// The first four bytes as hexadecimal digits, for people. Distinct ids may share them.
  package var short: String {
    bytes.prefix(4).map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }
    .joined()
  }

  /// Returns whether the other id is this one with a few bits changed, which is damage: random ids differ in about 128
  /// of their 256 bits.
  package func resembles(_ other: KeyID) -> Bool {
    zip(bytes, other.bytes).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount } <= 16
  }
}

extension KeyID: CustomStringConvertible {
  package var description: String { short }
}
