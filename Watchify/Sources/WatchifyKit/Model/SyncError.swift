public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The reason why a store could not be synced, with display texts. The stored data stays valid in every case.
///
/// ``from(_:)`` returns foreign errors as one of these cases without a finer cause. The client throws the finer causes,
/// which are values of `networkUnavailable` and `invalidResponse`:
///
/// ```swift
/// switch error {
/// case .storeNotFound, .networkUnavailable, .networkTimeout, .serverError: tryLater()
/// case .rateLimited(let seconds): tryAgain(after: seconds)
/// case .invalidResponse(.passwordProtected): showClosedSign()
/// case .invalidResponse: showWarning(error.failureReason)
/// }
/// ```
public enum SyncError: Error, Codable, Hashable, Sendable {
  /// The store is not in the database.
  case storeNotFound
  /// Less than a minute has passed since the last attempt.
  case rateLimited(retryAfter: TimeInterval)
  /// The device is offline, or no connection to the shop could be kept.
  case networkUnavailable(ConnectionFailure = .offline)
  /// The request took too long.
  case networkTimeout
  /// HTTP 5xx.
  case serverError(statusCode: Int)
  /// The response was not a product listing, or not a whole one.
  case invalidResponse(UnusableResponse = .unexpected)

  /// The reason why there is no connection to a shop.
  public enum ConnectionFailure: Codable, Hashable, Sendable {
    /// The device is offline.
    case offline
    /// No server responds at the address, or the device is offline.
    case unreachable
    /// The host name resolves to an address in a private network or of this device. Such an address must be entered
    /// literally.
    case privateAddress(String)
    /// The connection was closed before the response was complete.
    case lost
    /// The server could not prove that it is the shop, so nothing was sent; `reason` is a sentence that states why.
    case insecure(reason: String)
  }

  /// The reason why a response could not be used.
  public enum UnusableResponse: Codable, Hashable, Sendable {
    /// The response has an unexpected form.
    case unexpected
    /// The shop, or a proxy in front of it, refuses automated requests: 403, 430, a challenge page or robots.txt.
    case refused(reason: String)
    /// The response was "Too many requests". No request is made before `until` to `shop`, given by its address; if
    /// `shop` is `nil`, Shopify itself sent the response and no shop is requested.
    case resting(until: Date, shop: String? = nil)
    /// The shop is closed by a password.
    case passwordProtected
    /// The site is not a Shopify store.
    case notShopify
    /// The shop exists but is disabled: HTTP 402 or 423.
    case closed(statusCode: Int)
    /// The listing is incomplete; `reason` is a sentence that states why.
    case incomplete(reason: String)
    /// The address redirects to another site. The redirect is not followed, because the site may have another owner.
    case moved(to: String)
  }
}

// Short forms for the client, which throws these.
extension SyncError {
  static var unreachable: Self { .networkUnavailable(.unreachable) }
  static var connectionLost: Self { .networkUnavailable(.lost) }
  static func insecure(_ reason: String) -> Self { .networkUnavailable(.insecure(reason: reason)) }
  static func privateAddress(_ address: String) -> Self { .networkUnavailable(.privateAddress(address)) }
  static var passwordProtected: Self { .invalidResponse(.passwordProtected) }
  static var notShopify: Self { .invalidResponse(.notShopify) }
  static func refused(reason: String) -> Self { .invalidResponse(.refused(reason: reason)) }
  static func closed(statusCode: Int) -> Self { .invalidResponse(.closed(statusCode: statusCode)) }
  static func incomplete(reason: String) -> Self { .invalidResponse(.incomplete(reason: reason)) }
  static func moved(to address: String) -> Self { .invalidResponse(.moved(to: address)) }
  static func resting(until: Date, shop: String? = nil) -> Self {
    .invalidResponse(.resting(until: until, shop: shop))
  }
}

extension SyncError {
  /// Converts any error to a sync error. An error that has no corresponding case becomes `.invalidResponse()`.
  public static func from(_ error: any Error) -> SyncError {
    switch error {
    case let error as SyncError: return error
    case let error as URLError where error.code == .notConnectedToInternet || error.code == .networkConnectionLost:
      return .networkUnavailable()
    case let error as URLError where error.code == .timedOut: return .networkTimeout
    case ShopifyAPIError.httpError(let status) where (500...599).contains(status):
      return .serverError(statusCode: status)
    default: return .invalidResponse()
    }
  }
}

extension SyncError {
  /// The error as JSON, as stored with its store.
  var stored: String? { try? String(decoding: JSONEncoder().encode(self), as: UTF8.self) }

  init?(stored: String) {
    guard let error = try? JSONDecoder().decode(SyncError.self, from: Data(stored.utf8)) else { return nil }
    self = error
  }
}
