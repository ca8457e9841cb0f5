import CofferTerminal
import Foundation
import WatchifyKit

/// Converts Watchify's own errors to command errors; returns `nil` for other errors.
func explain(_ error: any Error) -> CommandError? {
  switch error {
  case let error as SyncFailure: CommandError(sync: error)
  case let error as ShopAddress.Invalid:
    CommandError(
      .usage, "invalidAddress", error.localizedDescription.oneLine(limit: 300),
      advice: "Give its address, such as allbirds.com.")
  case WatchifyError.otherShop:
    CommandError(
      .failure, "otherShop", error.localizedDescription, advice: "To follow that shop as well: watchify add ADDRESS")
  case let error as WatchifyError:
    CommandError(.failure, "alreadyFollowed", error.localizedDescription, advice: "See 'watchify list'.")
  case let error as WishError: CommandError(wish: error)
  case is CancellationError: CommandError(.interrupted, "interrupted", "Interrupted: stored data is kept.")
  default: nil
  }
}

extension CommandError {
  /// Creates a command error from an error about a wish.
  init(wish error: WishError) {
    let (status, code, advice): (ExitStatus, StaticString, String) =
      switch error {
      case .notFound: (.notFound, "wishNotFound", "See 'watchify wish list'.")
      case .noSubject: (.notFound, "subjectNotFound", "See 'watchify products STORE'.")
      case .exists(let id):
        (.failure, "wishExists", "Change it with 'watchify wish edit \(id.uuidString.prefix(8).lowercased())'.")
      case .tooMany: (.failure, "tooManyWishes", "See 'watchify wish list'.")
      case .needsCurrency: (.usage, "needsCurrency", "Add --currency.")
      case .invalidSearch: (.usage, "invalidSearch", "")
      case .invalidPrice: (.usage, "invalidPrice", "")
      case .invalidPercentage: (.usage, "invalidPercentage", "")
      case .needsSearch: (.usage, "needsSearch", "")
      case .expired: (.usage, "expired", "")
      }
    self.init(status, "\(code)", error.localizedDescription, advice: advice)
  }

  /// Creates a command error from a sync error.
  /// - Parameter store: the store, if older data of it exists.
  init(sync error: SyncFailure, store: StoreDTO? = nil) {
    var message = error.failureReason ?? ""
    var (code, status) = (error.code, ExitStatus.failure)
    switch error {
    case .storeNotFound: status = .notFound
    case .rateLimited(let wait):
      message = "wait \(Int(max(1, wait.rounded(.up)))) s: a store is synced at most once a minute."
      status = .tryAgain
    case .invalidResponse(.resting(let until, let shop)):
      message = Self.pause(until, shop)
      status = .tryAgain
    case .networkUnavailable(.privateAddress), .networkUnavailable(.insecure): break
    case .networkUnavailable, .networkTimeout: status = .tryAgain
    default: break
    }
    var advice = error.recoverySuggestion ?? ""
    if case .rateLimited = error { advice = "" }
    if case .invalidResponse(.moved(let address)) = error, let store {
      advice = "If that is the right shop: watchify edit \(store.domain) --address \(address)"
    }
    if let store {
      message = "\(store.name.oneLine(limit: 60)): \(message)"
      if !error.mustWait, let date = store.lastFetchedAt { message += " Showing data from \(Moment.text(date))." }
    }
    if code.isEmpty { code = "unknown" }
    self.init(status, code, message, advice: advice)
  }
}

extension CommandError {
  /// Returns a sentence about a pause of a shop, or of all shops if `shop` is `nil`.
  static func pause(_ until: Date, _ shop: String?) -> String {
    shop.map { "\($0) has asked for a pause: it is not synced before \(Moment.text(until)), other stores are." }
      ?? "Shopify has asked for a pause: no store is synced before \(Moment.text(until))."
  }

  /// Creates a command error for a store that could not be added, of which no older data exists.
  init(adding domain: String, _ error: SyncFailure) {
    self.init(sync: error)
    if case .rateLimited = error { return }
    var advice = error.suggestionForNewStore ?? ""
    if case .invalidResponse(.moved(let address)) = error {
      advice = "If that is the right shop: watchify add \(address)"
    }
    self.init(status, code, message, advice: advice)
    text = "\(domain) was not added: " + text
  }
}

extension SyncFailure {
  /// Whether the sync was too early, which is no failure of the store.
  var mustWait: Bool {
    switch self {
    case .rateLimited, .invalidResponse(.resting): true
    default: false
    }
  }

  /// The error code in JSON output.
  var code: String {
    switch self {
    case .storeNotFound: "storeNotFound"
    case .rateLimited: "rateLimited"
    case .networkUnavailable(.offline): "networkUnavailable"
    case .networkTimeout: "networkTimeout"
    case .serverError: "serverError"
    case .invalidResponse(.unexpected): "invalidResponse"
    case .invalidResponse(.refused): "refused"
    case .invalidResponse(.resting): "resting"
    case .invalidResponse(.passwordProtected): "passwordProtected"
    case .invalidResponse(.notShopify): "notShopify"
    case .networkUnavailable(.unreachable): "unreachable"
    case .networkUnavailable(.privateAddress): "privateAddress"
    case .networkUnavailable(.lost): "connectionLost"
    case .networkUnavailable(.insecure): "insecure"
    case .invalidResponse(.moved): "moved"
    case .invalidResponse(.closed): "closed"
    case .invalidResponse(.incomplete): "incomplete"
    }
  }
}
