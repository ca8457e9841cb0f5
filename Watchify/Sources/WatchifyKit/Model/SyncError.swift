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
  /// "Too many requests" was said. Before this moment `shop`, by its address, is not asked; without one Shopify itself
  /// has said it, and no shop is asked.
  case resting(until: Date, shop: String? = nil)
  /// The shop is closed by a password.
  case passwordProtected
  /// There is a site, but no Shopify store.
  case notShopify
  /// No server answers at that address, or there is no network.
  case unreachable
  /// The name leads to an address in a private network, or of this device, which its owner did not give so.
  case privateAddress(String)
  /// The shop exists and is switched off: HTTP 402 or 423.
  case closed(statusCode: Int)
  /// The listing ended before its end; `reason` says how.
  case incomplete(reason: String)
  /// The address leads to another site, which may be anybody's: it is not followed there.
  case moved(to: String)
  /// The server, or something on the way to it, ended the connection before the answer was whole.
  case connectionLost
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
    case .privateAddress: "Private address"
    case .closed: "Store closed"
    case .incomplete: "Incomplete answer"
    case .moved: "Moved"
    case .connectionLost: "Connection lost"
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
    case .resting(let until, nil):
      "Shopify asked us to slow down; no store is asked before \(until.formatted(.iso8601))."
    case .resting(let until, let shop?):
      "\(shop) asked us to slow down; it is not asked before \(until.formatted(.iso8601))."
    case .passwordProtected: "The store asks its visitors for a password."
    case .notShopify: "There is a site at that address, but no Shopify store."
    case .unreachable: "No server answers at that address."
    case .privateAddress(let address): "That name leads to \(address), which is no address on the internet."
    case .closed(let status): "The store exists and is switched off (\(status))."
    case .incomplete(let reason): reason
    case .moved(let place): "The address has moved to \(place)."
    case .connectionLost: "The connection was ended before the answer was whole."
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
    case .resting(_, nil): "Nothing needs to be done: syncing goes on by itself."
    case .resting: "Nothing needs to be done: syncing goes on by itself, and other stores are read as usual."
    case .passwordProtected: "What is known stays. Syncing goes on by itself when the store opens."
    case .notShopify: "Check the address, or try the store's myshopify.com address."
    case .unreachable: "Check the address, and your internet connection. What is known stays."
    case .privateAddress: "Nothing was asked. Check the address; what is known stays."
    case .closed: "What is known stays. Syncing goes on by itself when the store is back."
    case .incomplete: "Nothing was marked as removed. The next sync tries again."
    case .moved: "What is known stays. If it is the same shop, follow it at its new address."
    case .connectionLost: "What is known stays. The next sync tries again."
    }
  }

  /// What to do where nothing is known of the store yet, because it was about to be added.
  public var suggestionForNewStore: String? {
    switch self {
    case .refused: "Its owner can let you in: see Crawler access in the shop's preferences."
    case .privateAddress: "Nothing was asked. Check the address."
    case .passwordProtected: "Try again when the store is open."
    case .closed: "Try again when the store is back."
    case .unreachable: "Check the address, and your internet connection."
    case .incomplete, .connectionLost: "Try again later."
    case .moved: "If that is the shop that you mean, add its new address."
    case .resting: "Try again after that."
    default: recoverySuggestion
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
