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

  /// Returns the proxy that the environment sets for a scheme, under the names that libcurl reads; `nil` for none.
  private static func proxy(for scheme: String) -> String? {
    // A client could set HTTP_PROXY in the environment of a CGI program.
    let names = ["\(scheme)_proxy"] + (scheme == "http" ? [] : ["\(scheme.uppercased())_PROXY"])
    let environment = ProcessInfo.processInfo.environment
    let proxy = (names + ["all_proxy", "ALL_PROXY"]).compactMap { environment[$0] }.first { !$0.isEmpty }
    // These proxies would be given the address to which this device resolves the name, which nobody has checked.
    return proxy?.replacing(/^socks5:\/\//.ignoresCase(), with: "socks5h://")
      .replacing(/^socks4?:\/\//.ignoresCase(), with: "socks4a://")
  }

  /// Sets whether a transfer uses the environment's proxy; returns whether it does. The address of the proxy is not
  /// checked, and what the proxy resolves is its own.
  ///
  /// Everything on the internet goes through the proxy: `no_proxy` would let a name or address in it, which a shop may
  /// state, be requested directly. What may only be in own networks is requested directly, where addresses are checked.
  /// An address that the user entered as private is requested as the environment states.
  /// - Throws: ``ForbiddenAddress`` if the host is evidently not on the internet, where the proxy would request it.
  static func setProxy(
    of easy: UnsafeMutableRawPointer, to url: URL, within reach: NetworkReach
  ) throws(ForbiddenAddress) -> Bool {
    let proxy = Self.proxy(for: url.scheme?.lowercased() ?? "")
    if reach == .anywhere { return proxy != nil }
    func set(_ option: Int, _ text: String) {
      _ = text.withCString { watchify_curl_set_pointer(library, easy, Int32(option), $0) }
    }
    set(WATCHIFY_CURLOPT_NOPROXY, "")
    guard let proxy, reach == .internet else {
      set(WATCHIFY_CURLOPT_PROXY, "")
      return false
    }
    set(WATCHIFY_CURLOPT_PROXY, proxy)
    guard let host = url.host, !NetworkAddress.isPrivate(host: host) else {
      throw ForbiddenAddress(address: url.host ?? "no host")
    }
    return true
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
