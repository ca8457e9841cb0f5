public import Foundation

/// A ``SyncError`` with its finer cause, which is a value of `networkUnavailable` and `invalidResponse`.
///
/// ```swift
/// do { try await service.sync(id) } catch let failure as SyncFailure {
///   switch failure {
///   case .rateLimited(let seconds): tryAgain(after: seconds)
///   case .invalidResponse(.passwordProtected): showClosedSign()
///   default: showWarning(failure.failureReason)
///   }
/// }
/// ```
public enum SyncFailure: Error, Codable, Hashable, Sendable {
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
extension SyncFailure {
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

extension SyncFailure {
  /// The error without its cause.
  public var error: SyncError {
    switch self {
    case .storeNotFound: .storeNotFound
    case .rateLimited(let wait): .rateLimited(retryAfter: wait)
    case .networkUnavailable: .networkUnavailable
    case .networkTimeout: .networkTimeout
    case .serverError(let status): .serverError(statusCode: status)
    case .invalidResponse: .invalidResponse
    }
  }

  /// Converts any error to a failure. One that is no failure has no finer cause.
  public static func from(_ error: any Error) -> SyncFailure {
    if let failure = error as? SyncFailure { return failure }
    switch SyncError.from(error) {
    case .storeNotFound: return .storeNotFound
    case .rateLimited(let wait): return .rateLimited(retryAfter: wait)
    case .networkUnavailable: return .networkUnavailable()
    case .networkTimeout: return .networkTimeout
    case .serverError(let status): return .serverError(statusCode: status)
    case .invalidResponse: return .invalidResponse()
    }
  }
}

extension SyncFailure {
  /// The failure as JSON, as stored with its store.
  var stored: String? { try? String(decoding: JSONEncoder().encode(self), as: UTF8.self) }

  init?(stored: String) {
    guard let failure = try? JSONDecoder().decode(SyncFailure.self, from: Data(stored.utf8)) else { return nil }
    self = failure
  }
}
