package import Foundation

/// The id of a data key: the HMAC-SHA-256 of a fixed label under the key, 32 bytes.
///
/// It reveals nothing about the key and commits to it: two keys with the same id would be a collision of SHA-256. An
/// envelope names its key by this id, so no ciphertext can be opened with two keys.
package struct KeyID: Hashable, Sendable {
  package static let count = 32

  // Four numbers instead of a `Data`, which would be allocated for each envelope that is opened.
  private let first: UInt64
  private let second: UInt64
  private let third: UInt64
  private let fourth: UInt64

  /// Creates an id from its bytes, or returns `nil` if they are not 32.
  package init?(_ bytes: Data) {
    guard bytes.count == Self.count else { return nil }
    self = bytes.withUnsafeBytes { KeyID($0) }
  }

  /// Creates an id from the first 32 bytes of a buffer.
  init(_ bytes: UnsafeRawBufferPointer) {
    first = bytes.loadUnaligned(as: UInt64.self)
    second = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    third = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
    fourth = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
  }

  private var words: [UInt64] { [first, second, third, fourth] }

  /// The id: 32 bytes.
  package var bytes: Data { words.withUnsafeBytes { Data($0) } }

  /// Writes the id to the first 32 bytes of a buffer.
  func write(to bytes: UnsafeMutableRawBufferPointer) {
    bytes.storeBytes(of: first, as: UInt64.self)
    bytes.storeBytes(of: second, toByteOffset: 8, as: UInt64.self)
    bytes.storeBytes(of: third, toByteOffset: 16, as: UInt64.self)
    bytes.storeBytes(of: fourth, toByteOffset: 24, as: UInt64.self)
  }

  /// The first four bytes as hexadecimal digits, for people. Distinct ids may share them.
  package var short: String {
    bytes.prefix(4).map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }
    .joined()
  }
}

extension KeyID: CustomStringConvertible {
  package var description: String { short }
}
