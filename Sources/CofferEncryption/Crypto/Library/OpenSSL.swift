import CofferCOpenSSL
import CofferCore
import Foundation

/// OpenSSL 3: its initialization, its algorithms and the conversion of its errors. Each operation is in an extension.
enum OpenSSL: CryptographicLibrary {
  /// Whether OpenSSL is initialized; evaluate it before every use. Its exit handler is disabled, since it would crash
  /// threads that are still computing when the process exits.
  static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  static let algorithms = OpenSSLAlgorithms()

  /// Returns the last OpenSSL error of this thread and clears the thread's error queue, so that later calls do not see
  /// it.
  static func failure(_ what: String, _ code: StorageError.Code = .inputOutput) -> StorageError {
    let number = ERR_get_error()
    ERR_clear_error()
    // OpenSSL's texts name its own functions and reasons and contain no data.
    let text = number == 0 ? "no detail" : ERR_reason_error_string(number).map { String(cString: $0) } ?? "no detail"
    return StorageError(
      code, "The system's cryptographic library failed: \(what).",
      advice: "Nothing was written by this call. Check the installation of OpenSSL and its configuration.",
      underlying: .init(domain: "OpenSSL", code: Int(number), text: text))
  }

  static func digest(
    _ message: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer
  ) throws(StorageError) {
    guard let sha256 = algorithms.sha256 else { throw failure("it does not have SHA-256", .unsupported) }
    guard EVP_Digest(message.baseAddress, message.count, digest.octets, nil, sha256, nil) == 1 else {
      throw failure("it could not compute SHA-256")
    }
  }

  static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard let first = left.baseAddress, let second = right.baseAddress else { return left.count == right.count }
    return left.count == right.count && CRYPTO_memcmp(first, second, left.count) == 0
  }

  static func wipe(_ bytes: UnsafeMutableRawBufferPointer) { OPENSSL_cleanse(bytes.baseAddress, bytes.count) }

  static func wipeRegisters() {
    // A copy of eight registers of 64 bytes uses those of every smaller copy. The compiler cannot omit this call.
    CRYPTO_free(CRYPTO_memdup(algorithms.zeros, OpenSSLAlgorithms.zerosCount, nil, 0), nil, 0)
  }

  static func fillWithRandomBytes(_ bytes: UnsafeMutableRawBufferPointer, isSecret: Bool) throws(StorageError) {
    _ = isReady
    var position = 0
    while position < bytes.count {
      let count = min(bytes.count - position, 1 << 30)  // OpenSSL counts in 32 bits
      let start = bytes.octets.map { $0 + position }
      guard (isSecret ? RAND_priv_bytes(start, Int32(count)) : RAND_bytes(start, Int32(count))) == 1 else {
        throw failure("it could not generate random bytes", .unavailable)
      }
      position += count
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The base address, typed as OpenSSL expects it.
  var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }

  /// Returns `count` bytes from the offset `start` on.
  func part(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[start..<(start + count)])
  }
}

extension UnsafeMutableRawBufferPointer {
  /// The base address, typed as OpenSSL expects it.
  var octets: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }

  /// Returns `count` bytes from the offset `start` on.
  func part(_ start: Int, _ count: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: self[start..<(start + count)])
  }
}
