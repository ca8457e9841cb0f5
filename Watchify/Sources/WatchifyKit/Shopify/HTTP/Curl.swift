import Foundation
import WatchifyCCurl

/// Access to libcurl, which is loaded at run time.
enum Curl {
  /// The function table of libcurl; `nil` if the library is not installed.
  nonisolated(unsafe) static let library = watchify_curl_load()  // The table is immutable.

  /// The error for a system without libcurl.
  struct Missing: LocalizedError {
    var errorDescription: String? {
      "libcurl, which is required to sync stores, is not installed. Install the package libcurl4; stored data is kept."
    }
  }

  /// Returns whether the environment sets a proxy for a scheme. The address of a proxy is not checked.
  static func hasProxy(_ scheme: String?) -> Bool {
    let names = scheme == "http" ? ["http_proxy"] : ["https_proxy", "HTTPS_PROXY"]
    let environment = ProcessInfo.processInfo.environment
    return (names + ["all_proxy", "ALL_PROXY"]).contains { environment[$0].map { !$0.isEmpty } ?? false }
  }

  /// Opens the socket for a connection; -1 if the address is not allowed. libcurl calls this with every address after
  /// it has looked up the name, so that no name leads around the check.
  static func socket(
    to address: UnsafeMutablePointer<watchify_curl_address>, if isAllowed: (NetworkAddress?) -> Bool
  ) -> Int32 {
    // An address may be longer than its field.
    let start = UnsafeRawPointer(address) + (MemoryLayout<watchify_curl_address>.offset(of: \.address) ?? 16)
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(address.pointee.length))
    guard isAllowed(NetworkAddress(socketAddress: bytes)) else { return -1 }
    return Foundation.socket(address.pointee.family, address.pointee.type | O_CLOEXEC, address.pointee.protocol)
  }

  /// Converts a result of libcurl to a `URLError`.
  static func error(_ result: Int32, system: Int) -> URLError {
    let code: URLError.Code =
      switch (result, Int32(system)) {
      case (3, _): .badURL
      case (5, _), (6, _): .cannotFindHost
      case (28, _), (7, ETIMEDOUT): .timedOut
      case (7, _): .cannotConnectToHost
      case (52, _): .badServerResponse
      case (55, ECONNRESET), (56, ECONNRESET), (55, EPIPE): .networkConnectionLost
      default: .unknown
      }
    return URLError(code)
  }
}
