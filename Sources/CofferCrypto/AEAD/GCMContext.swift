import CofferCOpenSSL
import CofferCore
import Foundation

/// The cipher, fetched once since that takes longer than sealing a small message. It is never freed or changed, so
/// threads can share it.
private nonisolated(unsafe) let aes256GCM: OpaquePointer? =
  OpenSSL.isReady
  ? EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) : nil

/// An OpenSSL context for one message. OpenSSL wipes the expanded key when the context is freed.
final class GCMContext {
  enum Direction: Int32 {
    case open = 0
    case seal = 1
  }

  private let context: OpaquePointer
  private let partSize: Int

  init(
    _ direction: Direction, key: SecretBytes, nonce: UnsafeRawBufferPointer, partSize: Int
  ) throws(StorageError) {
    guard let aes256GCM else { throw OpenSSL.failure("it does not have AES-256-GCM", .unsupported) }
    guard let context = EVP_CIPHER_CTX_new() else { throw OpenSSL.failure("it is out of memory") }
    self.context = context
    self.partSize = partSize
    let done = key.withUnsafeBytes { key in
      EVP_CipherInit_ex(context, aes256GCM, nil, key.octets, nonce.octets, direction.rawValue)
    }
    guard done == 1 else { throw OpenSSL.failure("it rejected the key") }
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  func authenticate(_ aad: Data) -> Bool { aad.withUnsafeBytes { update($0, into: nil) } }

  func transform(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Bool {
    update(input, into: output.baseAddress)
  }

  /// Processes the input in parts. Without an output, the input is only authenticated.
  private func update(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer?) -> Bool {
    var position = 0
    while position < input.count {
      let part = UnsafeRawBufferPointer(rebasing: input[position...].prefix(partSize))
      let target = output.map { ($0 + position).assumingMemoryBound(to: UInt8.self) }
      var written: Int32 = 0
      guard EVP_CipherUpdate(context, target, &written, part.octets, Int32(part.count)) == 1,
        Int(written) == part.count
      else { return false }
      position += part.count
    }
    return true
  }

  /// Completes the tag or, when opening, verifies it.
  func finish() -> Bool {
    var written: Int32 = 0
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: AESGCM.tagCount) { nothing in
      EVP_CipherFinal_ex(context, nothing.baseAddress, &written) == 1 && written == 0
    }
  }

  func getTag(_ tag: UnsafeMutableRawBufferPointer) -> Bool {
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), tag.baseAddress) == 1
  }

  func setTag(_ tag: UnsafeRawBufferPointer) -> Bool {
    // OpenSSL copies the tag; the parameter is not `const` because other operations write to it.
    let tag = UnsafeMutableRawBufferPointer(mutating: tag)
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), tag.baseAddress) == 1
  }
}

extension UnsafeRawBufferPointer {
  /// The base address, typed as OpenSSL expects it.
  var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }

  /// Returns `count` bytes from the offset `start` on.
  func part(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: dropFirst(start).prefix(count))
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Returns `count` bytes from the offset `start` on.
  func part(_ start: Int, _ count: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: dropFirst(start).prefix(count))
  }
}
