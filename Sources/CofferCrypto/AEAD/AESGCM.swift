import CofferCOpenSSL
package import CofferCore
package import Foundation

/// The bytes were not sealed with this key and these circumstances, or were changed since. Which, nobody is told.
package struct AuthenticationFailure: Error, Hashable {
  package init() {}
}

/// AES-256-GCM (NIST SP 800-38D): bytes that nobody can read or change without the key.
///
/// A sealed message is the nonce (12 bytes), as many bytes as the message has, and the tag (16 bytes). A key is good
/// for 2^32 messages under random nonces.
package struct AESGCM: Sendable {
  package static let keyCount = 32
  package static let nonceCount = 12
  package static let tagCount = 16
  /// How much longer a message is when it is sealed.
  package static let overhead = nonceCount + tagCount
  /// The longest message: a value of 1 GiB and what its holder puts around it.
  package static let limit = 1 << 31

  private let key: SecretBytes
  /// OpenSSL counts in 32 bits, so it is given a message in parts.
  private let partSize: Int

  package init(key: SecretBytes, partSize: Int = 1 << 30) throws(StorageError) {
    guard key.count == Self.keyCount else {
      throw StorageError(.unsupported, "A key of AES-256 has 32 bytes; this one has \(key.count).")
    }
    self.key = key
    self.partSize = min(max(1, partSize), 1 << 30)
  }

  /// - Parameters:
  ///   - nonce: 12 bytes that were never used with this key; random ones when it is `nil`, as it should be.
  ///   - aad: What the message belongs to. It is not in the result, and `open` needs the same.
  package func seal(_ plaintext: Data, nonce: Data? = nil, authenticating aad: Data) throws -> Data {
    try plaintext.withUnsafeBytes { try seal($0, nonce: nonce, authenticating: aad) }
  }

  /// The same for a message that is no `Data`, such as a secret.
  package func seal(_ plaintext: UnsafeRawBufferPointer, nonce: Data? = nil, authenticating aad: Data) throws -> Data {
    guard plaintext.count <= Self.limit, aad.count <= Self.limit else {
      throw StorageError(
        .valueTooLarge, "The value is larger than can be encrypted in one piece.",
        advice: "Split it. Nothing was written.")
    }
    let nonce = if let nonce { nonce } else { try randomBytes(Self.nonceCount) }
    guard nonce.count == Self.nonceCount else {
      throw StorageError(.unsupported, "A nonce of AES-256-GCM has 12 bytes; this one has \(nonce.count).")
    }
    var sealed = Data(count: plaintext.count + Self.overhead)
    let done = try sealed.withUnsafeMutableBytes { sealed in
      nonce.copyBytes(to: sealed)
      let nonce = UnsafeRawBufferPointer(sealed.part(0, Self.nonceCount))
      let context = try GCMContext(.seal, key: key, nonce: nonce, partSize: partSize)
      let tag = sealed.part(Self.nonceCount + plaintext.count, Self.tagCount)
      return context.authenticate(aad)
        && context.transform(plaintext, into: sealed.part(Self.nonceCount, plaintext.count))
        && context.finish() && context.getTag(tag)
    }
    guard done else { throw OpenSSL.failure("it could not encrypt") }
    return sealed
  }

  /// Throws `AuthenticationFailure` unless `seal` made exactly these bytes with the same key and the same `aad`.
  package func open(_ sealed: Data, authenticating aad: Data) throws -> Data {
    var plaintext = Data(count: try plaintextCount(sealed))
    try plaintext.withUnsafeMutableBytes { try open(sealed, authenticating: aad, into: $0) }
    return plaintext
  }

  /// The same for a message that is a secret.
  package func openSecret(_ sealed: Data, authenticating aad: Data) throws -> SecretBytes {
    try SecretBytes(count: try plaintextCount(sealed)) { try open(sealed, authenticating: aad, into: $0) }
  }

  private func plaintextCount(_ sealed: Data) throws -> Int {
    let count = sealed.count - Self.overhead
    guard count >= 0, count <= Self.limit else { throw AuthenticationFailure() }
    return count
  }

  private func open(
    _ sealed: Data, authenticating aad: Data, into plaintext: UnsafeMutableRawBufferPointer
  ) throws {
    guard aad.count <= Self.limit else { throw AuthenticationFailure() }
    let isAuthentic = try sealed.withUnsafeBytes { sealed in
      let context = try GCMContext(.open, key: key, nonce: sealed.part(0, Self.nonceCount), partSize: partSize)
      let ciphertext = sealed.part(Self.nonceCount, plaintext.count)
      let tag = sealed.part(Self.nonceCount + plaintext.count, Self.tagCount)
      return context.authenticate(aad) && context.transform(ciphertext, into: plaintext)
        && context.setTag(tag) && context.finish()
    }
    guard isAuthentic else {
      // What was decrypted before the tag was compared is somebody else's text.
      OPENSSL_cleanse(plaintext.baseAddress, plaintext.count)
      ERR_clear_error()
      throw AuthenticationFailure()
    }
  }
}
