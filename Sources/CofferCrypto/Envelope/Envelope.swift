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
      let sealing = SealingInput(UnsafeRawBufferPointer(header), algorithm, key, context)
      try value.withUnsafeBytes { value in
        guard isPadded else {
          return try sealing.withInput { try Cryptography.seal(value, $0, into: ciphertext, tag: tag) }
        }
        // Encrypted in place, so that no second copy of the value has to be wiped.
        ciphertext.copyMemory(from: value)
        EnvelopePadding.write(in: ciphertext, after: value.count)
        try sealing.withInput {
          try Cryptography.seal(UnsafeRawBufferPointer(ciphertext), $0, into: ciphertext, tag: tag)
        }
      }
    }
  }

  /// Decrypts a value.
  /// - Parameters:
  ///   - context: the circumstances in which the envelope was found.
  ///   - key: returns the data key with an id, or throws `keyUnavailable`. Its errors are passed on.
  /// - Throws: `AuthenticationFailure` unless `seal` produced exactly this envelope in the same context; `damaged` if
  ///   the bytes are no envelope, or one whose version, algorithm or flags were changed; `newerFormat`.
  package static func open(
    _ envelope: Data, context: EnvelopeContext, key: (KeyID) throws -> DataKey
  ) throws -> Data {
    let header: EnvelopeHeader
    do { header = try EnvelopeHeader(of: envelope) } catch  where error.code == .newerFormat {
      throw EnvelopeRepair.isDamaged(envelope, context: context, key: key) ? EnvelopeRepair.damaged : error
    }
    return try open(envelope, header, context: context, key: try key(header.keyID))
  }

  static func open(
    _ envelope: Data, _ header: EnvelopeHeader, context: EnvelopeContext, key: DataKey
  ) throws -> Data {
    // The id commits to the key. A ring that returns another key is wrong, whatever that key would decrypt.
    guard key.id == header.keyID, envelope.count <= 2 * AEAD.limit else {
      throw AuthenticationFailure()
    }
    var count = envelope.count - overhead
    let value = try Data(writing: count, isSecret: true) { plaintext in
      let isAuthentic = try envelope.withUnsafeBytes { envelope in
        let opening = SealingInput(envelope.part(0, EnvelopeHeader.count), header.algorithm, key, context)
        let ciphertext = envelope.part(EnvelopeHeader.count, plaintext.count)
        let tag = envelope.part(envelope.count - AEAD.tagCount, AEAD.tagCount)
        return try opening.withInput { try Cryptography.open(ciphertext, tag: tag, $0, into: plaintext) }
      }
      guard isAuthentic else { throw AuthenticationFailure() }
      guard header.isPadded else { return }
      guard let unpadded = EnvelopePadding.count(in: UnsafeRawBufferPointer(plaintext)) else {
        throw AuthenticationFailure()
      }
      count = unpadded
    }
    return value.prefix(count)
  }
}

/// The key and the associated data of one envelope.
private struct SealingInput {
  private static let nonce = [UInt8](repeating: 0, count: AEAD.nonceCount)
  private let header: UnsafeRawBufferPointer
  private let algorithm: AEAD.Algorithm
  private let key: DataKey
  private let associatedData: [UInt8]

  init(
    _ header: UnsafeRawBufferPointer, _ algorithm: AEAD.Algorithm, _ key: DataKey, _ context: EnvelopeContext
  ) {
    self.header = header
    self.algorithm = algorithm
    self.key = key
    associatedData = context.associatedData(header)
  }

  /// Calls `body` with the key of the envelope, which is wiped afterwards.
  func withInput<R>(_ body: (AEADInput) throws -> R) throws -> R {
    let derived = UnsafeMutableRawBufferPointer.allocate(byteCount: AEAD.keyCount, alignment: 16)
    defer {
      Cryptography.wipe(derived)
      derived.deallocate()
    }
    try key.expand(.envelope, header, into: derived)
    return try associatedData.withUnsafeBytes { associatedData in
      try Self.nonce.withUnsafeBytes { nonce in
        try body(
          AEADInput(
            algorithm: algorithm, key: UnsafeRawBufferPointer(derived), nonce: nonce, associatedData: associatedData))
      }
    }
  }
}
