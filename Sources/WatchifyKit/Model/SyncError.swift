public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Why a shop could not be synced (document 2), in words for people. Whatever it is, what was stored stays valid.
///
/// The document's six cases come from ``from(_:)``, whose table is the document's. The others are finer: the client
/// throws them itself.
public enum SyncError: Error, Codable, Hashable, Sendable {
  /// There is no such store in the database.
  case storeNotFound
  /// Less than a minute has passed since the last attempt.
  case rateLimited(retryAfter: TimeInterval)
  /// The device is offline.
  case networkUnavailable
  /// The request took too long.
  case networkTimeout
  /// HTTP 5xx.
  case serverError(statusCode: Int)
  /// The answer was no list of products.
  case invalidResponse

  /// The shop, or what stands before it, refuses automatic readers: 403, 430, a challenge page or robots.txt.
  case refused(reason: String)
  /// A shop has said "too many requests": no shop is asked before this moment.
  case resting(until: Date)
  /// The shop is closed by a password.
  case passwordProtected
  /// There is a site, but no Shopify store.
  case notShopify
  /// No server answers at that address, or there is no network.
  case unreachable
  /// The shop exists and is switched off: HTTP 402 or 423.
  case closed(statusCode: Int)
  /// The listing ended before its end; `reason` says how.
  case incomplete(reason: String)
}

extension SyncError {
  /// The document's table: anything else is an invalid response.
  public static func from(_ error: any Error) -> SyncError {
    switch error {
    case let error as SyncError: return error
    case let error as URLError where error.code == .notConnectedToInternet || error.code == .networkConnectionLost:
      return .networkUnavailable
    case let error as URLError where error.code == .timedOut: return .networkTimeout
    case ShopifyAPIError.httpError(let status) where (500...599).contains(status):
      return .serverError(statusCode: status)
    default: return .invalidResponse
    }
  }
}

extension SyncError {
  /// As it is kept with its store.
  var stored: String? { try? String(decoding: JSONEncoder().encode(self), as: UTF8.self) }

  init?(stored: String) {
    guard let error = try? JSONDecoder().decode(SyncError.self, from: Data(stored.utf8)) else { return nil }
    self = error
  }
}

extension SyncError: LocalizedError {
  /// A short title.
  public var errorDescription: String? {
    switch self {
    case .storeNotFound: "Store not found"
    case .rateLimited: "Sync limited"
    case .networkUnavailable: "No connection"
    case .networkTimeout: "Connection timed out"
    case .serverError: "Server error"
    case .invalidResponse: "Invalid response"
    case .refused: "Refused by the store"
    case .resting: "Resting"
    case .passwordProtected: "Store closed by password"
    case .notShopify: "Not a Shopify store"
    case .unreachable: "No answer"
    case .closed: "Store closed"
    case .incomplete: "Incomplete answer"
    }
  }

  /// What happened.
  public var failureReason: String? {
    switch self {
    case .storeNotFound: "We couldn't find a store with that address."
    case .rateLimited(let wait): "Please wait \(Self.seconds(wait)) seconds before syncing again."
    case .networkUnavailable: "Your device appears to be offline."
    case .networkTimeout: "The request took too long to complete."
    case .serverError(let status): "The server returned an error (\(status))."
    case .invalidResponse: "The server returned unexpected data."
    case .refused(let reason): "This store refuses automatic readers: \(reason)"
    case .resting(let until): "Shopify asked us to slow down; resting until \(until.formatted(.iso8601))."
    case .passwordProtected: "The store asks its visitors for a password."
    case .notShopify: "There is a site at that address, but no Shopify store."
    case .unreachable: "No server answers at that address."
    case .closed(let status): "The store exists and is switched off (\(status))."
    case .incomplete(let reason): reason
    }
  }

  /// What to do.
  public var recoverySuggestion: String? {
    switch self {
    case .storeNotFound: "Check the domain and try again."
    case .rateLimited: "Try again after the countdown completes."
    case .networkUnavailable: "Check your internet connection and try again."
    case .networkTimeout: "Try again when your connection improves."
    case .serverError: "The store may be temporarily unavailable. Try again later."
    case .invalidResponse: "The store may have changed its product feed format."
    case .refused: "What is known stays. Its owner can let you in: see Crawler access in the shop's preferences."
    case .resting: "Nothing needs to be done: syncing goes on by itself."
    case .passwordProtected: "What is known stays. Syncing goes on by itself when the store opens."
    case .notShopify: "Check the address, or try the store's myshopify.com address."
    case .unreachable: "Check the address, and your internet connection. What is known stays."
    case .closed: "What is known stays. Syncing goes on by itself when the store is back."
    case .incomplete: "Nothing was marked as removed. The next sync tries again."
    }
  }

  /// An SF Symbol for interfaces.
  public var iconName: String {
    switch self {
    case .storeNotFound: "storefront.circle"
    case .rateLimited: "clock"
    case .networkUnavailable: "wifi.slash"
    case .networkTimeout: "clock.badge.exclamationmark"
    case .serverError: "exclamationmark.icloud"
    case .invalidResponse, .incomplete: "exclamationmark.triangle"
    case .refused: "hand.raised"
    case .resting: "moon.zzz"
    case .passwordProtected: "lock"
    case .notShopify, .unreachable: "questionmark.circle"
    case .closed: "door.left.hand.closed"
    }
  }

  private static func seconds(_ wait: TimeInterval) -> Int { Int(max(0, wait.rounded(.up))) }
}
