import CofferCOpenSSL
import CofferCore
import CofferEncryption
import Foundation

/// Seals and opens one value as an envelope and, for comparison, with OpenSSL alone.
public final class SealingBenchmark {
  private let algorithm: AEAD.Algorithm
  private let value: Data
  private let key: DataKey
  private let context: EnvelopeContext
  private let envelope: Data
  private let raw: RawSealing

  /// - Parameters:
  ///   - algorithm: the name, `AES-256-GCM` or `ChaCha20-Poly1305`.
  ///   - size: the size of the value in bytes.
  public init(_ algorithm: String, size: Int) throws {
    self.algorithm = AEAD.Algorithm.allCases.first { $0.description == algorithm } ?? .aes256GCM
    value = try randomBytes(size)
    key = try .random()
    context = EnvelopeContext(store: try randomBytes(16), key: "user/settings/token")
    envelope = try Envelope.seal(value, under: key, context: context, algorithm: self.algorithm, isPadded: false)
    raw = RawSealing(algorithm, value)
  }

  /// Seals the value; returns the size of the envelope.
  public func seal() throws -> Int {
    try Envelope.seal(value, under: key, context: context, algorithm: algorithm, isPadded: false).count
  }

  /// Opens the envelope; returns the size of the value.
  public func open() throws -> Int {
    try Envelope.open(envelope, context: context) { _ in key }.count
  }

  /// Encrypts the value with a cipher that was fetched, and into a buffer that was allocated, before.
  public func sealRaw() -> Bool { raw.seal() }

  /// Decrypts the value in the same way.
  public func openRaw() -> Bool { raw.open() }
}

/// The calls of OpenSSL that any use of its ciphers needs: a context, a key, a nonce, one message and its tag.
private final class RawSealing {
  private let cipher: OpaquePointer?
  private let plaintext: [UInt8]
  private var sealed: [UInt8]
  private var opened: [UInt8]
  private var tag = [UInt8](repeating: 0, count: 16)
  private let key = [UInt8](repeating: 1, count: 32)
  private let nonce = [UInt8](repeating: 2, count: 12)

  init(_ algorithm: String, _ value: Data) {
    cipher = EVP_CIPHER_fetch(nil, algorithm, nil)
    plaintext = Array(value)
    sealed = plaintext
    opened = plaintext
    _ = seal()
  }

  deinit { EVP_CIPHER_free(cipher) }

  func seal() -> Bool {
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var written: Int32 = 0
    return EVP_CipherInit_ex(context, cipher, nil, key, nonce, 1) == 1
      && EVP_CipherUpdate(context, &sealed, &written, plaintext, Int32(plaintext.count)) == 1
      && EVP_CipherFinal_ex(context, &opened, &written) == 1
      && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
  }

  func open() -> Bool {
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var written: Int32 = 0
    return EVP_CipherInit_ex(context, cipher, nil, key, nonce, 0) == 1
      && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1
      && EVP_CipherUpdate(context, &opened, &written, sealed, Int32(sealed.count)) == 1
      && EVP_CipherFinal_ex(context, &tag, &written) == 1
  }
}
