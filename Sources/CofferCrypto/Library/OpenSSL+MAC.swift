import CofferCOpenSSL
import CofferCore
import CofferLocks
import Foundation

extension OpenSSL {
  /// A context of OpenSSL for HMAC. It contains the key in ordinary memory and is wiped when it is freed.
  ///
  /// Unchecked since either one thread or the list of idle contexts owns it; the original is never changed.
  private struct MACContext: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  /// HMAC-SHA-256 with contexts that are keyed in advance: a third of the time that a new context takes.
  final class PreparedMAC: KeyedMAC {
    /// Has the key and is only copied, never used, so threads can share it.
    private let original: MACContext
    /// Contexts that no thread uses at the moment.
    private let idle = Locked<[MACContext]>([])
    private static let maximumIdle = 8
    private static let codeCount = 32

    init(key: UnsafeRawBufferPointer) throws(StorageError) {
      guard let hmac = algorithms.hmac else { throw OpenSSL.failure("it does not have HMAC", .unsupported) }
      guard let context = EVP_MAC_CTX_new(hmac) else { throw OpenSSL.failure("it is out of memory") }
      guard EVP_MAC_init(context, key.octets ?? algorithms.noBytes, key.count, algorithms.digest) == 1 else {
        EVP_MAC_CTX_free(context)
        throw OpenSSL.failure("it rejected the key of an authentication code")
      }
      original = MACContext(pointer: context)
    }

    deinit {
      EVP_MAC_CTX_free(original.pointer)
      for context in idle.withLock({ $0 }) { EVP_MAC_CTX_free(context.pointer) }
    }

    func authenticate(
      _ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer
    ) throws(StorageError) {
      let context = try takeContext()
      var written = 0
      let isDone =
        EVP_MAC_update(context.pointer, message.octets ?? algorithms.noBytes, message.count) == 1
        && EVP_MAC_final(context.pointer, code.octets, &written, code.count) == 1 && written == Self.codeCount
      giveBack(context, isDone: isDone)
      guard isDone else { throw OpenSSL.failure("it could not compute an authentication code") }
    }

    private func takeContext() throws(StorageError) -> MACContext {
      if let context = idle.withLock({ $0.popLast() }) { return context }
      guard let copy = EVP_MAC_CTX_dup(original.pointer) else { throw OpenSSL.failure("it is out of memory") }
      return MACContext(pointer: copy)
    }

    /// Prepares a context for the next message, with the same key.
    private func giveBack(_ context: MACContext, isDone: Bool) {
      let isKept =
        isDone && OpenSSL.restartsMACs && EVP_MAC_init(context.pointer, nil, 0, nil) == 1
        && idle.withLock { idle in
          guard idle.count < Self.maximumIdle else { return false }
          idle.append(context)
          return true
        }
      if !isKept { EVP_MAC_CTX_free(context.pointer) }
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
