import CofferCOpenSSL
import CofferCore

/// What every use of OpenSSL begins with and what its failures become.
enum OpenSSL {
  /// OpenSSL takes itself down when the process exits, and a thread that still computes something then crashes: it is
  /// asked not to, before its first use. The memory goes with the process.
  static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  /// The failure that OpenSSL remembers for this thread, as an error; it forgets it, so that nobody else meets it.
  static func failure(_ what: String, _ code: StorageError.Code = .inputOutput) -> StorageError {
    let number = ERR_get_error()
    ERR_clear_error()
    // OpenSSL's texts name its own functions and reasons; they hold nothing of what was computed.
    let text = number == 0 ? "no detail" : ERR_reason_error_string(number).map { String(cString: $0) } ?? "no detail"
    return StorageError(
      code, "The cryptographic library of the system failed: \(what).",
      advice: "Nothing was written by this call. Check the installation of OpenSSL and its configuration.",
      underlying: .init(domain: "OpenSSL", code: Int(number), text: text))
  }
}
