package import CofferCore
package import Foundation

/// Authenticated encryption with associated data: AES-256-GCM (NIST SP 800-38D) or ChaCha20-Poly1305 (RFC 8439).
///
/// A sealed message consists of the nonce (12 bytes), the ciphertext, which is as long as the message, and the tag
/// (16 bytes). With random nonces, a key may seal at most 2^32 messages.
package struct AEAD: Sendable {
  /// A cipher. The raw values are stored.
  package enum Algorithm: UInt8, CaseIterable, Sendable, CustomStringConvertible {
    case aes256GCM = 1
    case chaCha20Poly1305 = 2

    /// The name of the algorithm in standards.
    package var description: String {
      switch self {
      case .aes256GCM: "AES-256-GCM"
      case .chaCha20Poly1305: "ChaCha20-Poly1305"
      }
    }
  }

  package static let keyCount = 32
  package static let nonceCount = 12
  package static let tagCount = 16
  /// The number of bytes that sealing adds to a message.
  package static let overhead = nonceCount + tagCount
  /// The maximum size of a message in bytes, which leaves room for a value of 1 GiB and its framing.
  package static let limit = 1 << 31

  package let algorithm: Algorithm
  private let key: SecretBytes
  private let partSize: Int

  /// - Parameters:
  ///   - key: 32 bytes.
  ///   - partSize: the maximum number of bytes passed to the library at once, for tests.
  package init(
    _ algorithm: Algorithm, key: SecretBytes, partSize: Int = .max
  ) throws(StorageError) {
    guard key.count == Self.keyCount else {
      throw StorageError(.unsupported, "A key of \(algorithm) has 32 bytes; this one has \(key.count).")
    }
    self.algorithm = algorithm
    self.key = key
    self.partSize = min(max(1, partSize), AEADInput.maximumPartSize)
  }

  /// Encrypts and authenticates a message.
  /// - Parameters:
  ///   - nonce: 12 bytes that were never used with this key, or `nil` for random ones, which is recommended.
  ///   - aad: associated data. It is not part of the result, and `open` requires the same data.
  package func seal(_ plaintext: Data, nonce: Data? = nil, authenticating aad: Data) throws -> Data {
    try plaintext.withUnsafeBytes { try seal($0, nonce: nonce, authenticating: aad) }
  }

  /// Encrypts and authenticates a message in a buffer, such as a secret.
  package func seal(_ plaintext: UnsafeRawBufferPointer, nonce: Data? = nil, authenticating aad: Data) throws -> Data {
    try Self.checkSize(plaintext.count, aad.count)
    let nonce = if let nonce { nonce } else { try randomBytes(Self.nonceCount) }
    guard nonce.count == Self.nonceCount else {
      throw StorageError(.unsupported, "A nonce of \(algorithm) has 12 bytes; this one has \(nonce.count).")
    }
    return try Data(writing: plaintext.count + Self.overhead) { sealed in
      nonce.copyBytes(to: sealed)
      let ciphertext = sealed.part(Self.nonceCount, plaintext.count)
      let tag = sealed.part(Self.nonceCount + plaintext.count, Self.tagCount)
      try withInput(nonce: UnsafeRawBufferPointer(sealed.part(0, Self.nonceCount)), aad) { input in
        try Cryptography.seal(plaintext, input, into: ciphertext, tag: tag)
      }
    }
  }

  /// Decrypts a sealed message.
  /// - Throws: `AuthenticationFailure` unless `seal` produced exactly these bytes with the same key and the same `aad`.
  package func open(_ sealed: Data, authenticating aad: Data) throws -> Data {
    try Data(writing: try plaintextCount(sealed)) { try open(sealed, authenticating: aad, into: $0) }
  }

  /// Decrypts a sealed message that is a secret.
  package func openSecret(_ sealed: Data, authenticating aad: Data) throws -> SecretBytes {
    try SecretBytes(count: try plaintextCount(sealed)) { try open(sealed, authenticating: aad, into: $0) }
  }

  /// Throws `valueTooLarge` for a message that cannot be sealed in one piece.
  static func checkSize(_ count: Int, _ aadCount: Int) throws(StorageError) {
    guard count <= limit, aadCount <= limit else {
      throw StorageError(
        .valueTooLarge, "The value is too large to be encrypted in one piece.",
        advice: "Split it. Nothing was written.")
    }
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
      try withInput(nonce: sealed.part(0, Self.nonceCount), aad) { input in
        try Cryptography.open(
          sealed.part(Self.nonceCount, plaintext.count),
          tag: sealed.part(Self.nonceCount + plaintext.count, Self.tagCount), input, into: plaintext)
      }
    }
    guard isAuthentic else { throw AuthenticationFailure() }
  }

  private func withInput<R>(
    nonce: UnsafeRawBufferPointer, _ aad: Data, _ body: (AEADInput) throws -> R
  ) throws -> R {
    try aad.withUnsafeBytes { aad in
      try key.withUnsafeBytes { key in
        try body(
          AEADInput(algorithm: algorithm, key: key, nonce: nonce, associatedData: aad, partSize: partSize))
      }
    }
  }
}
