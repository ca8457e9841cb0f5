package import Foundation

/// How a root key is derived from what its owner has. A key ring states it in its header, in plain.
package struct RootKeyDerivation: Hashable, Sendable {
  package enum Method: Hashable, Sendable {
    /// HKDF-SHA-256, for random key material.
    case keyMaterial
    /// scrypt, for a passphrase.
    case passphrase(ScryptCost)
  }

  package static let saltCount = 32

  package let method: Method
  /// 32 random bytes, so that the same material yields another root key for another ring.
  package let salt: Data

  package init(_ method: Method, salt: Data) {
    self.method = method
    self.salt = salt
  }

  /// Creates a derivation with a new salt.
  package static func random(_ method: Method) throws -> RootKeyDerivation {
    RootKeyDerivation(method, salt: try randomBytes(saltCount))
  }
}

/// The key that seals a key ring: 32 bytes, derived from key material or from a passphrase. It encrypts nothing else
/// and is never stored.
package struct RootKey: Sendable {
  package let derivation: RootKeyDerivation
  private let key: DataKey

  /// Derives the root key.
  ///
  /// Blocks the thread: a passphrase takes the time and the memory that the derivation states.
  /// - Parameters:
  ///   - secret: the passphrase, or random key material, as the derivation's method demands.
  ///   - limits: the maximum cost of trying a passphrase, checked before any memory is allocated.
  /// - Throws: `unsupported` for a cost beyond the limits.
  package init(
    from secret: SecretBytes, _ derivation: RootKeyDerivation, limits: PassphraseLimits = PassphraseLimits()
  ) throws {
    self.derivation = derivation
    let bytes =
      switch derivation.method {
      case .keyMaterial:
        try hkdfSHA256(secret, salt: derivation.salt, info: Data("coffer root key".utf8), count: 32)
      case .passphrase(let cost):
        try scrypt(secret, salt: derivation.salt, cost: cost, count: 32, limits: limits)
      }
    key = try DataKey(bytes)
  }

  /// The identity of the root key, which its ring's header contains: it distinguishes a wrong key from damage.
  var check: Data { key.id.bytes }

  /// Returns a key for another purpose than the ring.
  func derivedKey(for purpose: DataKey.Purpose) throws -> DataKey { try key.derivedKey(for: purpose) }

  /// The cipher of the body of a ring.
  func cipher() throws -> AEAD {
    try AEAD(.aes256GCM, key: key.derivedKey(for: DataKey.Purpose("key ring")).material)
  }
}

extension RootKey: Equatable {
  package static func == (left: RootKey, right: RootKey) -> Bool {
    left.derivation == right.derivation && left.key.id == right.key.id
  }
}

extension RootKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "a root key (redacted)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
