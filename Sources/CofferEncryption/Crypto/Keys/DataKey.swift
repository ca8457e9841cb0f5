import CofferCore
package import Foundation

/// A key of 32 random bytes that encrypts values, hashes names or wraps other keys.
///
/// It is never used with a cipher directly: each envelope has a key of its own, which is derived from this one.
///
/// ```swift
/// let key = try DataKey.random()
/// let names = try key.derivedKey(for: .init("names"))
/// print(key)  // data key 3f1c09aa
/// ```
///
/// The key itself and a prepared state of HMAC, from which keys can be derived, are in locked memory. Both are wiped
/// when the last reference is released.
package final class DataKey: Sendable {
  package static let count = 32

  /// The key, 32 bytes.
  package let material: SecretBytes
  /// The id, which commits to the key.
  package let id: KeyID
  private let mac: Cryptography.PreparedMAC

  /// Creates a key from its bytes.
  /// - Throws: `unsupported` unless they are 32.
  package init(_ material: SecretBytes) throws {
    guard material.count == Self.count else {
      throw StorageError(.unsupported, "A data key has 32 bytes; this one has \(material.count).")
    }
    self.material = material
    mac = try material.withUnsafeBytes { try Cryptography.PreparedMAC(key: $0) }
    let mac = mac
    let bytes = try Data(writing: KeyID.count) { id in
      try KeyLabel.id.octets.withUnsafeBytes { try mac.authenticate($0, into: id) }
    }
    guard let id = KeyID(bytes) else { throw StorageError(.inputOutput, "A key id could not be computed.") }
    self.id = id
  }

  /// Creates a random key.
  package static func random() throws -> DataKey { try DataKey(.random(count: count)) }

  /// The purpose of a derived key. Purposes with different names have unrelated keys.
  package struct Purpose: Sendable {
    let name: [UInt8]

    /// - Parameter name: a constant, since it determines the key for ever; at most 255 bytes.
    package init(_ name: StaticString) { self.name = Array(name.description.utf8) }
  }

  /// Derives another key for a purpose with HKDF-Expand-SHA-256 (RFC 5869, section 2.3). It does not reveal this one.
  /// - Parameter context: bytes that follow the name of the purpose, always as many for one purpose.
  package func derivedKey(for purpose: Purpose, context: Data = Data()) throws -> DataKey {
    let material = try SecretBytes(count: Self.count) { derived in
      try (KeyLabel.purpose.octets + purpose.name + context + [1]).withUnsafeBytes { try expand($0, into: derived) }
    }
    return try DataKey(material)
  }

  /// Returns a keyed hash of a message, 32 bytes: HMAC-SHA-256 of the label `coffer hash v1.0` and the message.
  package func keyedHash(of message: UnsafeRawBufferPointer) throws -> Data {
    var labelled = KeyLabel.hash.octets
    labelled.reserveCapacity(labelled.count + message.count)
    labelled += message
    let mac = mac
    return try Data(writing: 32) { code in
      try labelled.withUnsafeBytes { try mac.authenticate($0, into: code) }
    }
  }

  /// Derives 32 bytes with HKDF-Expand-SHA-256, whose first block is the HMAC of the info and the byte 1. This key is
  /// uniformly random, so the extraction of RFC 5869 is omitted (its section 3.3).
  /// - Parameter message: the info, which begins with a label, and the byte 1.
  func expand(_ message: UnsafeRawBufferPointer, into derived: UnsafeMutableRawBufferPointer) throws(StorageError) {
    try mac.authenticate(message, into: derived)
  }
}

extension DataKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The id in short form; never the key.
  package var description: String { "data key \(id.short)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The beginning of every message that is authenticated with a data key, 16 bytes. Messages for different uses differ,
/// since all labels have the same size.
struct KeyLabel: Sendable {
  static let id = KeyLabel("coffer key id v1")
  static let envelope = KeyLabel("coffer envelope1")
  static let purpose = KeyLabel("coffer purpose 1")
  static let hash = KeyLabel("coffer hash v1.0")

  static let all = [id, envelope, purpose, hash]

  let octets: [UInt8]

  private init(_ text: StaticString) { octets = Array(text.description.utf8) }
}
