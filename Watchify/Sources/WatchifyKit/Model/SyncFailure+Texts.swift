public import Foundation

extension SyncFailure: LocalizedError {
  /// A short title, such as "No connection".
  public var errorDescription: String? {
    switch self {
    case .storeNotFound: "Store not found"
    case .rateLimited: "Sync limited"
    case .networkUnavailable(.offline): "No connection"
    case .networkTimeout: "Connection timed out"
    case .serverError: "Server error"
    case .invalidResponse(.unexpected): "Invalid response"
    case .invalidResponse(.refused): "Refused by the store"
    case .invalidResponse(.resting): "Paused"
    case .invalidResponse(.passwordProtected): "Store closed by password"
    case .invalidResponse(.notShopify): "Not a Shopify store"
    case .networkUnavailable(.unreachable): "No response"
    case .networkUnavailable(.privateAddress): "Private address"
    case .invalidResponse(.closed): "Store closed"
    case .invalidResponse(.incomplete): "Incomplete response"
    case .invalidResponse(.moved): "Moved"
    case .networkUnavailable(.lost): "Connection lost"
    case .networkUnavailable(.insecure): "Not secure"
    }
  }

  /// A sentence that describes what happened.
  public var failureReason: String? {
    switch self {
    case .storeNotFound: "We couldn't find a store with that address."
    case .rateLimited(let wait): "Please wait \(Self.seconds(wait)) before syncing again."
    case .networkUnavailable(.offline): "Your device appears to be offline."
    case .networkTimeout: "The request took too long to complete."
    case .serverError(let status): "The server returned an error (\(status))."
    case .invalidResponse(.unexpected): "The server returned unexpected data."
    case .invalidResponse(.refused(let reason)): "This store refuses automated requests: \(reason)"
    case .invalidResponse(.resting(let until, nil)):
      "Shopify asked us to slow down; no store is synced before \(until.formatted(.iso8601))."
    case .invalidResponse(.resting(let until, let shop?)):
      "\(shop) asked us to slow down; it is not synced before \(until.formatted(.iso8601))."
    case .invalidResponse(.passwordProtected): "The store requires a password from its visitors."
    case .invalidResponse(.notShopify): "The site at that address is not a Shopify store."
    case .networkUnavailable(.unreachable): "No server responds at that address."
    case .networkUnavailable(.privateAddress(let address)):
      "That name resolves to \(address), which is not a public address."
    case .invalidResponse(.closed(let status)): "The store exists but is disabled (\(status))."
    case .invalidResponse(.incomplete(let reason)): reason
    case .invalidResponse(.moved(let address)): "The address has moved to \(address)."
    case .networkUnavailable(.lost): "The connection was closed before the response was complete."
    case .networkUnavailable(.insecure(let reason)): reason
    }
  }

  /// A sentence that advises what to do next.
  public var recoverySuggestion: String? {
    switch self {
    case .storeNotFound: "Check the domain and try again."
    case .rateLimited: "Try again after the countdown completes."
    case .networkUnavailable(.offline): "Check your internet connection and try again."
    case .networkTimeout: "Try again when your connection improves."
    case .serverError: "The store may be temporarily unavailable. Try again later."
    case .invalidResponse(.unexpected): "The store may have changed its product feed format."
    case .invalidResponse(.refused):
      "Stored data is kept. The owner can grant access: see Crawler access in the shop's preferences."
    case .invalidResponse(.resting(_, nil)): "No action is needed: syncing resumes automatically."
    case .invalidResponse(.resting):
      "No action is needed: syncing resumes automatically, and other stores are synced as usual."
    case .invalidResponse(.passwordProtected):
      "Stored data is kept. Syncing resumes automatically when the store opens."
    case .invalidResponse(.notShopify): "Check the address, or try the store's myshopify.com address."
    case .networkUnavailable(.unreachable): "Check the address, and your internet connection. Stored data is kept."
    case .networkUnavailable(.privateAddress): "No request was sent. Check the address; stored data is kept."
    case .invalidResponse(.closed): "Stored data is kept. Syncing resumes automatically when the store is back."
    case .invalidResponse(.incomplete): "Nothing was marked as removed. The next sync will try again."
    case .invalidResponse(.moved): "Stored data is kept. If it is the same shop, follow it at its new address."
    case .networkUnavailable(.lost): "Stored data is kept. The next sync will try again."
    case .networkUnavailable(.insecure):
      "Nothing was sent, and stored data is kept. Check the date of this device; otherwise the shop has to act."
    }
  }

  /// A sentence that advises what to do next when adding a store failed, so that no data of it exists yet.
  public var suggestionForNewStore: String? {
    switch self {
    case .invalidResponse(.refused): "The owner can grant access: see Crawler access in the shop's preferences."
    case .networkUnavailable(.privateAddress): "No request was sent. Check the address."
    case .invalidResponse(.passwordProtected): "Try again when the store is open."
    case .invalidResponse(.closed): "Try again when the store is back."
    case .networkUnavailable(.unreachable): "Check the address, and your internet connection."
    case .networkUnavailable(.insecure):
      "Nothing was sent. Check the address and the date of this device; otherwise the shop has to act."
    case .invalidResponse(.incomplete), .networkUnavailable(.lost): "Try again later."
    case .invalidResponse(.moved): "If that is the right shop, add its new address."
    case .invalidResponse(.resting): "Try again after that."
    default: recoverySuggestion
    }
  }

  /// The name of an SF Symbol for user interfaces.
  public var iconName: String {
    switch self {
    case .storeNotFound: "storefront.circle"
    case .rateLimited: "clock"
    case .networkUnavailable(.offline): "wifi.slash"
    case .networkTimeout: "clock.badge.exclamationmark"
    case .serverError: "exclamationmark.icloud"
    case .invalidResponse(.unexpected), .invalidResponse(.incomplete): "exclamationmark.triangle"
    case .invalidResponse(.refused), .networkUnavailable(.privateAddress): "hand.raised"
    case .invalidResponse(.resting): "moon.zzz"
    case .invalidResponse(.passwordProtected): "lock"
    case .invalidResponse(.notShopify), .networkUnavailable(.unreachable): "questionmark.circle"
    case .invalidResponse(.closed): "door.left.hand.closed"
    case .invalidResponse(.moved): "arrow.right.circle"
    case .networkUnavailable(.lost): "bolt.horizontal.circle"
    case .networkUnavailable(.insecure): "lock.slash"
    }
  }

  private static func seconds(_ wait: TimeInterval) -> String {
    let seconds = Int(max(0, wait.rounded(.up)))
    return seconds == 1 ? "1 second" : "\(seconds) seconds"
  }
}
