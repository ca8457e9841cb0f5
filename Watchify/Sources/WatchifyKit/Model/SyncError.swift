public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The reason why a store could not be synced, with display texts. The stored data stays valid in every case.
///
/// ``from(_:)`` returns only the first six cases for foreign errors. The client throws the other, finer cases itself.
public enum SyncError: Error, Codable, Hashable, Sendable {
  /// The store is not in the database.
  case storeNotFound
  /// Less than a minute has passed since the last attempt.
  case rateLimited(retryAfter: TimeInterval)
  /// The device is offline.
  case networkUnavailable
  /// The request took too long.
  case networkTimeout
  /// HTTP 5xx.
  case serverError(statusCode: Int)
  /// The response was not a product listing.
  case invalidResponse

  /// The shop, or a proxy in front of it, refuses automated requests: 403, 430, a challenge page or robots.txt.
  case refused(reason: String)
  /// The response was "Too many requests". No request is made before `until` to `shop`, given by its address; if `shop`
  /// is `nil`, Shopify itself sent the response and no shop is requested.
  case resting(until: Date, shop: String? = nil)
  /// The shop is closed by a password.
  case passwordProtected
  /// The site is not a Shopify store.
  case notShopify
  /// No server responds at the address, or the device is offline.
  case unreachable
  /// The host name resolves to an address in a private network or of this device. Such an address must be entered
  /// literally.
  case privateAddress(String)
  /// The shop exists but is disabled: HTTP 402 or 423.
  case closed(statusCode: Int)
  /// The listing is incomplete; `reason` is a sentence that states why.
  case incomplete(reason: String)
  /// The address redirects to another site. The redirect is not followed, because the site may have another owner.
  case moved(to: String)
  /// The connection was closed before the response was complete.
  case connectionLost
}

extension SyncError {
  /// Converts any error to a sync error. An error that has no corresponding case becomes `.invalidResponse`.
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
  /// The error as JSON, as stored with its store.
  var stored: String? { try? String(decoding: JSONEncoder().encode(self), as: UTF8.self) }

  init?(stored: String) {
    guard let error = try? JSONDecoder().decode(SyncError.self, from: Data(stored.utf8)) else { return nil }
    self = error
  }
}

extension SyncError: LocalizedError {
  /// A short title, such as "No connection".
  public var errorDescription: String? {
    switch self {
    case .storeNotFound: "Store not found"
    case .rateLimited: "Sync limited"
    case .networkUnavailable: "No connection"
    case .networkTimeout: "Connection timed out"
    case .serverError: "Server error"
    case .invalidResponse: "Invalid response"
    case .refused: "Refused by the store"
    case .resting: "Paused"
    case .passwordProtected: "Store closed by password"
    case .notShopify: "Not a Shopify store"
    case .unreachable: "No response"
    case .privateAddress: "Private address"
    case .closed: "Store closed"
    case .incomplete: "Incomplete response"
    case .moved: "Moved"
    case .connectionLost: "Connection lost"
    }
  }

  /// A sentence that describes what happened.
  public var failureReason: String? {
    switch self {
    case .storeNotFound: "We couldn't find a store with that address."
    case .rateLimited(let wait): "Please wait \(Self.seconds(wait)) seconds before syncing again."
    case .networkUnavailable: "Your device appears to be offline."
    case .networkTimeout: "The request took too long to complete."
    case .serverError(let status): "The server returned an error (\(status))."
    case .invalidResponse: "The server returned unexpected data."
    case .refused(let reason): "This store refuses automated requests: \(reason)"
    case .resting(let until, nil):
      "Shopify asked us to slow down; no store is synced before \(until.formatted(.iso8601))."
    case .resting(let until, let shop?):
      "\(shop) asked us to slow down; it is not synced before \(until.formatted(.iso8601))."
    case .passwordProtected: "The store requires a password from its visitors."
    case .notShopify: "The site at that address is not a Shopify store."
    case .unreachable: "No server responds at that address."
    case .privateAddress(let address): "That name resolves to \(address), which is not a public address."
    case .closed(let status): "The store exists but is disabled (\(status))."
    case .incomplete(let reason): reason
    case .moved(let address): "The address has moved to \(address)."
    case .connectionLost: "The connection was closed before the response was complete."
    }
  }

  /// A sentence that advises what to do next.
  public var recoverySuggestion: String? {
    switch self {
    case .storeNotFound: "Check the domain and try again."
    case .rateLimited: "Try again after the countdown completes."
    case .networkUnavailable: "Check your internet connection and try again."
    case .networkTimeout: "Try again when your connection improves."
    case .serverError: "The store may be temporarily unavailable. Try again later."
    case .invalidResponse: "The store may have changed its product feed format."
    case .refused: "Stored data is kept. The owner can grant access: see Crawler access in the shop's preferences."
    case .resting(_, nil): "No action is needed: syncing resumes automatically."
    case .resting: "No action is needed: syncing resumes automatically, and other stores are synced as usual."
    case .passwordProtected: "Stored data is kept. Syncing resumes automatically when the store opens."
    case .notShopify: "Check the address, or try the store's myshopify.com address."
    case .unreachable: "Check the address, and your internet connection. Stored data is kept."
    case .privateAddress: "No request was sent. Check the address; stored data is kept."
    case .closed: "Stored data is kept. Syncing resumes automatically when the store is back."
    case .incomplete: "Nothing was marked as removed. The next sync will try again."
    case .moved: "Stored data is kept. If it is the same shop, follow it at its new address."
    case .connectionLost: "Stored data is kept. The next sync will try again."
    }
  }

  /// A sentence that advises what to do next when adding a store failed, so that no data of it exists yet.
  public var suggestionForNewStore: String? {
    switch self {
    case .refused: "The owner can grant access: see Crawler access in the shop's preferences."
    case .privateAddress: "No request was sent. Check the address."
    case .passwordProtected: "Try again when the store is open."
    case .closed: "Try again when the store is back."
    case .unreachable: "Check the address, and your internet connection."
    case .incomplete, .connectionLost: "Try again later."
    case .moved: "If that is the right shop, add its new address."
    case .resting: "Try again after that."
    default: recoverySuggestion
    }
  }

  /// The name of an SF Symbol for user interfaces.
  public var iconName: String {
    switch self {
    case .storeNotFound: "storefront.circle"
    case .rateLimited: "clock"
    case .networkUnavailable: "wifi.slash"
    case .networkTimeout: "clock.badge.exclamationmark"
    case .serverError: "exclamationmark.icloud"
    case .invalidResponse, .incomplete: "exclamationmark.triangle"
    case .refused, .privateAddress: "hand.raised"
    case .resting: "moon.zzz"
    case .passwordProtected: "lock"
    case .notShopify, .unreachable: "questionmark.circle"
    case .closed: "door.left.hand.closed"
    case .moved: "arrow.right.circle"
    case .connectionLost: "bolt.horizontal.circle"
    }
  }

  private static func seconds(_ wait: TimeInterval) -> Int { Int(max(0, wait.rounded(.up))) }
}
