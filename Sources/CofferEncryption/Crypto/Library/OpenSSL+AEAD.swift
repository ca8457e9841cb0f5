import CofferCOpenSSL
import CofferCore
import Foundation

extension OpenSSL {
  static func seal(
    _ plaintext: UnsafeRawBufferPointer, _ input: AEADInput, into ciphertext: UnsafeMutableRawBufferPointer,
    tag: UnsafeMutableRawBufferPointer
  ) throws(StorageError) {
    let context = try makeContext(input, isSealing: true)
    defer { EVP_CIPHER_CTX_free(context) }  // which wipes the expanded key
    guard update(context, input.associatedData, into: nil, input.partSize),
      update(context, plaintext, into: ciphertext.octets, input.partSize),
      finish(context, after: ciphertext),
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), tag.baseAddress) == 1
    else { throw failure("it could not encrypt") }
  }

  static func open(
    _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, _ input: AEADInput,
    into plaintext: UnsafeMutableRawBufferPointer
  ) throws(StorageError) -> Bool {
    let context = try makeContext(input, isSealing: false)
    defer { EVP_CIPHER_CTX_free(context) }
    // OpenSSL copies the tag; the parameter is not `const` because other operations write to it.
    let expected = UnsafeMutableRawPointer(mutating: tag.baseAddress)
    guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), expected) == 1,
      update(context, input.associatedData, into: nil, input.partSize),
      update(context, ciphertext, into: plaintext.octets, input.partSize),
      finish(context, after: plaintext)
    else {
      // Plaintext that was decrypted before the tag was verified must not be released.
      wipe(plaintext)
      ERR_clear_error()
      return false
    }
    return true
  }

  private static func makeContext(_ input: AEADInput, isSealing: Bool) throws(StorageError) -> OpaquePointer {
    let cipher =
      switch input.algorithm {
      case .aes256GCM: algorithms.aes256GCM
      case .chaCha20Poly1305: algorithms.chaCha20Poly1305
      }
    guard let cipher else { throw failure("it does not have \(input.algorithm)", .unsupported) }
    guard let context = EVP_CIPHER_CTX_new() else { throw failure("it is out of memory") }
    guard EVP_CipherInit_ex(context, cipher, nil, input.key.octets, input.nonce.octets, isSealing ? 1 : 0) == 1 else {
      EVP_CIPHER_CTX_free(context)
      throw failure("it rejected the key")
    }
    return context
  }

  /// Processes bytes in parts. Without an output, they are only authenticated.
  private static func update(
    _ context: OpaquePointer, _ input: UnsafeRawBufferPointer, into output: UnsafeMutablePointer<UInt8>?,
    _ partSize: Int
  ) -> Bool {
    var position = 0
    while position < input.count {
      let count = min(input.count - position, partSize)
      var written: Int32 = 0
      guard
        EVP_CipherUpdate(
          context, output.map { $0 + position }, &written, input.octets.map { $0 + position }, Int32(count)) == 1,
        Int(written) == count
      else { return false }
      position += count
    }
    return true
  }

  /// Completes the tag or, when opening, verifies it. These ciphers write nothing more.
  private static func finish(_ context: OpaquePointer, after output: UnsafeMutableRawBufferPointer) -> Bool {
    var written: Int32 = 0
    var nothing: UInt64 = 0
    return withUnsafeMutableBytes(of: &nothing) { EVP_CipherFinal_ex(context, $0.octets, &written) } == 1
      && written == 0
  }
}
