import CofferCOpenSSL
import CofferCore
import CofferLocks
import Foundation

extension OpenSSL {
  /// A context of OpenSSL for HMAC. It contains the key in ordinary memory and is wiped when it is freed.
  ///
  /// Unchecked since it is used only while the lock of its owner is held.
  private struct MACContext: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  /// HMAC-SHA-256 with a context that is keyed in advance: a fifth of the time that a new context takes. One thread at
  /// a time uses it, for a fifth of a microsecond, so that the key is in memory only once.
  final class PreparedMAC: KeyedMAC {
    private let context: Locked<MACContext>
    private static let codeCount = 32

    init(key: UnsafeRawBufferPointer) throws(StorageError) {
      guard let hmac = algorithms.hmac else { throw OpenSSL.failure("it does not have HMAC", .unsupported) }
      guard let context = EVP_MAC_CTX_new(hmac) else { throw OpenSSL.failure("it is out of memory") }
      guard EVP_MAC_init(context, key.octets ?? algorithms.noBytes, key.count, algorithms.digest) == 1 else {
        EVP_MAC_CTX_free(context)
        throw OpenSSL.failure("it rejected the key of an authentication code")
      }
      self.context = Locked(MACContext(pointer: context))
    }

    deinit { EVP_MAC_CTX_free(context.withLock { $0 }.pointer) }

    func authenticate(
      _ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer
    ) throws(StorageError) {
      let isDone = context.withLock { context in
        guard OpenSSL.restartsMACs else {
          guard let copy = EVP_MAC_CTX_dup(context.pointer) else { return false }
          defer { EVP_MAC_CTX_free(copy) }
          return Self.authenticate(message, into: code, copy)
        }
        return EVP_MAC_init(context.pointer, nil, 0, nil) == 1
          && Self.authenticate(message, into: code, context.pointer)
      }
      guard isDone else { throw OpenSSL.failure("it could not compute an authentication code") }
    }

    private static func authenticate(
      _ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer, _ context: OpaquePointer
    ) -> Bool {
      var written = 0
      return EVP_MAC_update(context, message.octets ?? algorithms.noBytes, message.count) == 1
        && EVP_MAC_final(context, code.octets, &written, code.count) == 1 && written == codeCount
    }
  }

  /// Whether a context that is initialized without a key starts again with its previous one. It does not in the first
  /// releases of OpenSSL 3.0, where the second code is wrong.
  private static let restartsMACs: Bool = {
    guard let hmac = algorithms.hmac, let context = EVP_MAC_CTX_new(hmac) else { return false }
    defer { EVP_MAC_CTX_free(context) }
    var codes = [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 1, count: 32)]
    let key = [UInt8](repeating: 7, count: 32)
    var written = 0
    guard EVP_MAC_init(context, key, key.count, algorithms.digest) == 1 else { return false }
    for index in codes.indices {
      guard EVP_MAC_update(context, key, key.count) == 1,
        EVP_MAC_final(context, &codes[index], &written, 32) == 1, EVP_MAC_init(context, nil, 0, nil) == 1
      else {
        ERR_clear_error()
        return false
      }
    }
    return codes[0] == codes[1]
  }()
}
