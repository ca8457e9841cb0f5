import Foundation
import Testing

@testable import WatchifyKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct SyncErrorTests {
  // Requirement 2.33
  @Test("The table of conversions")
  func table() {
    struct Odd: Error {}
    let cases: [(any Error, SyncError)] = [
      (URLError(.notConnectedToInternet), .networkUnavailable),
      (URLError(.networkConnectionLost), .networkUnavailable),
      (URLError(.timedOut), .networkTimeout), (URLError(.badURL), .invalidResponse),
      (ShopifyAPIError.httpError(statusCode: 500), .serverError(statusCode: 500)),
      (ShopifyAPIError.httpError(statusCode: 599), .serverError(statusCode: 599)),
      (ShopifyAPIError.httpError(statusCode: 404), .invalidResponse),
      (ShopifyAPIError.httpError(statusCode: 429), .invalidResponse),
      (ShopifyAPIError.invalidResponse, .invalidResponse),
      (Odd(), .invalidResponse), (SyncError.rateLimited(retryAfter: 3), .rateLimited(retryAfter: 3)),
      (SyncFailure.notShopify, .invalidResponse), (SyncFailure.unreachable, .networkUnavailable),
    ]
    for (error, expected) in cases { #expect(SyncError.from(error) == expected, "\(error)") }
  }

  // Requirements 2.28, 2.32, 2.55
  @Test("The specified texts, and texts for every case")
  func words() {
    let documented: [(SyncError, String, String, String, String)] = [
      (
        .storeNotFound, "Store not found", "We couldn't find a store with that address.",
        "Check the domain and try again.", "storefront.circle"
      ),
      (
        .rateLimited(retryAfter: 41.2), "Sync limited", "Please wait 42 seconds before syncing again.",
        "Try again after the countdown completes.", "clock"
      ),
      (
        .networkUnavailable, "No connection", "Your device appears to be offline.",
        "Check your internet connection and try again.", "wifi.slash"
      ),
      (
        .networkTimeout, "Connection timed out", "The request took too long to complete.",
        "Try again when your connection improves.", "clock.badge.exclamationmark"
      ),
      (
        .serverError(statusCode: 503), "Server error", "The server returned an error (503).",
        "The store may be temporarily unavailable. Try again later.", "exclamationmark.icloud"
      ),
      (
        .invalidResponse, "Invalid response", "The server returned unexpected data.",
        "The store may have changed its product feed format.", "exclamationmark.triangle"
      ),
    ]
    for (error, title, reason, suggestion, icon) in documented {
      #expect(error.errorDescription == title && error.failureReason == reason)
      #expect(error.recoverySuggestion == suggestion && error.iconName == icon)
    }
    let finer: [SyncFailure] = [
      .refused(reason: "HTTP 403."), .resting(until: Date(timeIntervalSince1970: 0)), .passwordProtected, .notShopify,
      .unreachable, .closed(statusCode: 402), .incomplete(reason: "A page came empty."),
    ]
    #expect(Set(finer.compactMap(\.errorDescription)).count == finer.count)
    for error in finer {
      #expect(error.failureReason?.isEmpty == false && error.recoverySuggestion?.isEmpty == false)
      #expect(!error.iconName.isEmpty)
    }
  }
}

@Suite struct MoneyTests {
  @Test(
    "Amounts are formatted for display in the served currency, without rounding",
    arguments: [
      ("164.8", "USD", "$164.80"), ("1234567.5", "USD", "$1,234,567.50"), ("2200", "JPY", "¥2,200"),
      ("220", "SGD", "SGD 220.00"), ("1099000", "COP", "COP 1,099,000"), ("12.345", "KWD", "KWD 12.345"),
      ("0.0001", "USD", "$0.0001"), ("-5", "EUR", "-€5.00"), ("999.99", "gbp", "£999.99"), ("7.5", "XYZ1", "7.50"),
      ("0", "USD", "$0.00"), ("1000", "?!x", "1,000.00"),
    ])
  func amounts(amount: String, currency: String, text: String) throws {
    #expect(Money.text(try #require(Decimal(string: amount)), currency) == text)
    #expect(!Money.text(1, nil).contains("$"), "no currency is assumed")
  }
}
