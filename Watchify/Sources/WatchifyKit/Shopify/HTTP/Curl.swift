import Foundation
import WatchifyCCurl

/// libcurl, loaded once.
enum Curl {
  /// `nil` where there is none.
  nonisolated(unsafe) static let library = watchify_curl_load()  // Its table of functions is never changed.

  /// There is no libcurl on this system.
  struct Missing: LocalizedError {
    var errorDescription: String? {
      "The system has no libcurl, through which stores are read. Install the package libcurl4; what is known stays."
    }
  }

  /// Whether the environment sends requests of a scheme through a proxy, whose address is its own affair.
  static func hasProxy(_ scheme: String?) -> Bool {
    let names = scheme == "http" ? ["http_proxy"] : ["https_proxy", "HTTPS_PROXY"]
    let environment = ProcessInfo.processInfo.environment
    return (names + ["all_proxy", "ALL_PROXY"]).contains { environment[$0].map { !$0.isEmpty } ?? false }
  }

  /// libcurl's result as Foundation's error, which the rest of Watchify knows.
  static func error(_ result: Int32, system: Int) -> URLError {
    let code: URLError.Code =
      switch (result, Int32(system)) {
      case (3, _): .badURL
      case (5, _), (6, _): .cannotFindHost
      case (28, _), (7, ETIMEDOUT): .timedOut
      case (7, _): .cannotConnectToHost
      case (52, _): .badServerResponse
      case (55, ECONNRESET), (56, ECONNRESET), (55, EPIPE): .networkConnectionLost
      case (35, _): .secureConnectionFailed
      case (60, _): .serverCertificateUntrusted
      default: .unknown
      }
    return URLError(code)
  }
}
