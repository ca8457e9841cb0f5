import CofferCore
package import Foundation

/// An encrypted value, as an engine stores it: a header of 64 bytes, the ciphertext and a tag of 16 bytes.
/// `docs/formats/envelope.md` describes it byte by byte.
///
/// ```swift
/// let context = EnvelopeContext(store: storeID, key: "user/token")
/// let envelope = try Envelope.seal(value, under: key, context: context, algorithm: .aes256GCM, isPadded: false)
/// let same = try Envelope.open(envelope, context: context) { id in try ring.key(id) }
/// ```
///
/// Each envelope has a key of its own, derived from the data key and the random salt in its header, and the nonce zero.
/// No counter has to survive a crash, and writers in several processes need no agreement.
package enum Envelope {
  /// The number of bytes that sealing adds to a value without padding.
  package static let overhead = EnvelopeHeader.count + AEAD.tagCount

  /// The size in bytes up to which a value that was opened is wiped when the last reference to its bytes is released.
  /// Wiping larger ones would add a sixth to the time of opening them.
  private static let largestWiped = 64 << 10

  /// Returns the number of bytes that sealing adds to a value of `count` bytes.
  package static func maximumOverhead(of count: Int, isPadded: Bool) -> Int {
    isPadded ? EnvelopePadding.bucket(of: count) - count + overhead : overhead
  }

  /// Encrypts and authenticates a value.
  /// - Parameters:
  ///   - key: the data key; the envelope names it.
  ///   - context: where the envelope will be stored; `open` requires the same.
  ///   - isPadded: whether the size of the value is hidden in a bucket.
  /// - Throws: `valueTooLarge` above 2 GiB; `unavailable` if the system has no random numbers.
  package static func seal(
    _ value: Data, under key: DataKey, context: EnvelopeContext, algorithm: AEAD.Algorithm, isPadded: Bool
  ) throws -> Data {
    try AEAD.checkSize(value.count, 0)
    let size = value.count + maximumOverhead(of: value.count, isPadded: isPadded)
    return try Data(writing: size) { envelope in
      let header = envelope.part(0, EnvelopeHeader.count)
      try EnvelopeHeader.write(algorithm, isPadded: isPadded, key.id, in: header)
      let ciphertext = envelope.part(EnvelopeHeader.count, size - overhead)
      let tag = envelope.part(size - AEAD.tagCount, AEAD.tagCount)
      try AEADInput.with(UnsafeRawBufferPointer(header), algorithm, key, context) { input in
        try value.withUnsafeBytes { value in
          guard isPadded else { return try Cryptography.seal(value, input, into: ciphertext, tag: tag) }
          // Encrypted in place, so that no second copy of the value has to be wiped.
          ciphertext.copyMemory(from: value)
          EnvelopePadding.write(in: ciphertext, after: value.count)
          try Cryptography.seal(UnsafeRawBufferPointer(ciphertext), input, into: ciphertext, tag: tag)
        }
      }
    }
  }

  /// Decrypts a value.
  /// - Parameters:
  ///   - context: the circumstances in which the envelope was found.
  ///   - key: returns the data key with an id, or throws `keyUnavailable`. Its errors are passed on.
  /// - Throws: `AuthenticationFailure` unless `seal` produced exactly this envelope in the same context; `damaged` if
  ///   the bytes are no envelope; `newerFormat` for an unknown version, algorithm or flag.
  package static func open(
    _ envelope: Data, context: EnvelopeContext, key: (KeyID) throws -> DataKey
  ) throws -> Data {
    let (value, isPadded) = try envelope.withUnsafeBytes { try open($0, context: context, key: key) }
    guard isPadded else { return value }
    // Authentic padding is wrong only if the writer was.
    guard let unpadded = EnvelopePadding.count(in: value) else { throw AuthenticationFailure() }
    return value.prefix(unpadded)
  }

  private static func open(
    _ envelope: UnsafeRawBufferPointer, context: EnvelopeContext, key: (KeyID) throws -> DataKey
  ) throws -> (value: Data, isPadded: Bool) {
    let header = try EnvelopeHeader(envelope)
    let dataKey = try key(header.keyID)
    // The id commits to the key. A ring that returns another key is wrong, whatever that key would decrypt.
    guard dataKey.id == header.keyID, envelope.count <= 2 * AEAD.limit else {
      throw AuthenticationFailure()
    }
    let count = envelope.count - overhead
    let ciphertext = envelope.part(EnvelopeHeader.count, count)
    let tag = envelope.part(envelope.count - AEAD.tagCount, AEAD.tagCount)
    return try AEADInput.with(envelope.part(0, EnvelopeHeader.count), header.algorithm, dataKey, context) { input in
      let value = try Data(writing: count, isSecret: count <= largestWiped) { plaintext in
        guard try Cryptography.open(ciphertext, tag: tag, input, into: plaintext) else {
          throw AuthenticationFailure()
        }
      }
      return (value, header.isPadded)
    }
  }
}
