import CofferCOpenSSL
import CofferCore

/// The initialization of OpenSSL and the conversion of its errors.
enum OpenSSL {
  /// Whether OpenSSL is initialized; evaluate it before every use. Its exit handler is disabled, since it would crash
  /// threads that are still computing when the process exits.
  static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

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
}
