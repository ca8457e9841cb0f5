import CofferCore
import Foundation

/// The operations that this target needs from the cryptographic library of the system: OpenSSL on Linux. Another
/// library, such as CryptoKit, replaces it by conforming to this protocol; only this folder imports it.
///
/// Buffers never overlap, except that a message may be sealed in place. Keys, nonces and tags have the sizes of
/// ``AEAD``, digests and authentication codes 32 bytes; the callers check that.
protocol CryptographicLibrary {
  associatedtype PreparedMAC: KeyedMAC

  /// Writes the SHA-256 digest of a message.
  static func digest(
    _ message: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer
  ) throws(StorageError)

  /// Encrypts a message into `ciphertext`, which has the same size, and writes the tag.
  static func seal(
    _ plaintext: UnsafeRawBufferPointer, _ input: AEADInput, into ciphertext: UnsafeMutableRawBufferPointer,
    tag: UnsafeMutableRawBufferPointer
  ) throws(StorageError)

  /// Decrypts a message. Returns `false`, and leaves no plaintext behind, if it is not authentic.
  static func open(
    _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, _ input: AEADInput,
    into plaintext: UnsafeMutableRawBufferPointer
  ) throws(StorageError) -> Bool

  /// Derives a key with HKDF-SHA-256.
  static func hkdf(
    _ key: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, info: UnsafeRawBufferPointer,
    into derived: UnsafeMutableRawBufferPointer
  ) throws(StorageError)

  /// Derives a key with PBKDF2-HMAC-SHA-256.
  static func pbkdf2(
    _ passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, rounds: Int32,
    into derived: UnsafeMutableRawBufferPointer
  ) throws(StorageError)

  /// Derives a key with scrypt. The cost must have been validated.
  static func scrypt(
    _ passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, cost: ScryptCost,
    into derived: UnsafeMutableRawBufferPointer
  ) throws(StorageError)

  /// Fills a buffer from the library's generator, which must survive a fork of the process.
  /// - Parameter isSecret: whether the bytes are never published, as those of a key.
  static func fillWithRandomBytes(_ bytes: UnsafeMutableRawBufferPointer, isSecret: Bool) throws(StorageError)

  /// Compares two buffers of the same size in time that does not depend on their contents.
  static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool

  /// Overwrites bytes in a way that the optimizer keeps.
  static func wipe(_ bytes: UnsafeMutableRawBufferPointer)

  /// Overwrites the vector registers of this thread in which the system has copied secrets: they stay there until the
  /// next large copy, and a core dump contains the registers of each thread.
  static func wipeRegisters()
}

/// HMAC-SHA-256 with one key, prepared for many messages. Threads may share it.
protocol KeyedMAC: AnyObject, Sendable {
  init(key: UnsafeRawBufferPointer) throws(StorageError)

  /// Writes the authentication code of a message: 32 bytes.
  func authenticate(
    _ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer
  ) throws(StorageError)
}

/// What sealing and opening a message have in common.
struct AEADInput {
  let algorithm: AEAD.Algorithm
  let key: UnsafeRawBufferPointer
  let nonce: UnsafeRawBufferPointer
  let associatedData: UnsafeRawBufferPointer
  /// The maximum number of bytes passed to the library at once.
  var partSize = AEADInput.maximumPartSize

  /// OpenSSL counts in 32 bits.
  static let maximumPartSize = 1 << 30
}

/// The library in use.
typealias Cryptography = OpenSSL
