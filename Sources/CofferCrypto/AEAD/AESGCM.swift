import CofferCOpenSSL
package import CofferCore
package import Foundation

/// An error that reports that a message was not sealed with this key and this authenticated data, or was changed since.
/// It does not distinguish these cases.
package struct AuthenticationFailure: Error, Hashable {
  package init() {}
}

/// Authenticated encryption with AES-256-GCM (NIST SP 800-38D).
///
/// A sealed message consists of the nonce (12 bytes), the ciphertext, which is as long as the message, and the tag
/// (16 bytes). With random nonces, a key may seal at most 2^32 messages.
package struct AESGCM: Sendable {
  package static let keyCount = 32
  package static let nonceCount = 12
  package static let tagCount = 16
  /// The number of bytes that sealing adds to a message.
  package static let overhead = nonceCount + tagCount
  /// The maximum size of a message in bytes, which leaves room for a value of 1 GiB and its framing.
  package static let limit = 1 << 31

  private let key: SecretBytes
  /// The maximum number of bytes passed to OpenSSL at once, since it counts in 32 bits.
  private let partSize: Int

  package init(key: SecretBytes, partSize: Int = 1 << 30) throws(StorageError) {
    guard key.count == Self.keyCount else {
      throw StorageError(.unsupported, "An AES-256 key has 32 bytes; this one has \(key.count).")
    }
    self.key = key
    self.partSize = min(max(1, partSize), 1 << 30)
  }

  /// Encrypts and authenticates a message.
  /// - Parameters:
  ///   - nonce: 12 bytes that were never used with this key, or `nil` for random ones, which is recommended.
  ///   - aad: additional authenticated data. It is not part of the result, and `open` requires the same data.
  package func seal(_ plaintext: Data, nonce: Data? = nil, authenticating aad: Data) throws -> Data {
    try plaintext.withUnsafeBytes { try seal($0, nonce: nonce, authenticating: aad) }
  }

  /// Encrypts and authenticates a message in a buffer, such as a secret.
  package func seal(_ plaintext: UnsafeRawBufferPointer, nonce: Data? = nil, authenticating aad: Data) throws -> Data {
    guard plaintext.count <= Self.limit, aad.count <= Self.limit else {
      throw StorageError(
        .valueTooLarge, "The value is too large to be encrypted in one piece.",
        advice: "Split it. Nothing was written.")
    }
    let nonce = if let nonce { nonce } else { try randomBytes(Self.nonceCount) }
    guard nonce.count == Self.nonceCount else {
      throw StorageError(.unsupported, "An AES-256-GCM nonce has 12 bytes; this one has \(nonce.count).")
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

  /// Decrypts a sealed message.
  /// - Throws: `AuthenticationFailure` unless `seal` produced exactly these bytes with the same key and the same `aad`.
  package func open(_ sealed: Data, authenticating aad: Data) throws -> Data {
    var plaintext = Data(count: try plaintextCount(sealed))
    try plaintext.withUnsafeMutableBytes { try open(sealed, authenticating: aad, into: $0) }
    return plaintext
  }

  /// Decrypts a sealed message that is a secret.
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
      // Plaintext that was decrypted before the tag was verified must not be released.
      OPENSSL_cleanse(plaintext.baseAddress, plaintext.count)
      ERR_clear_error()
      throw AuthenticationFailure()
    }
  }
}
