public import Foundation

/// The reason why a wish was not made or changed. Stored wishes are unchanged.
public enum WishError: Error, Hashable, Sendable {
  /// The same wish exists.
  case exists(UUID)
  /// There is no such wish.
  case notFound
  /// There is no such store, product or variant.
  case noSubject
  /// The text of a search has no words, or more than ten words or 200 bytes.
  case invalidSearch
  /// The price is not above zero, or not an amount that a shop can ask for.
  case invalidPrice
  /// The percentage is not between 1 and 99.
  case invalidPercentage
  /// "New that matches" requires a search.
  case needsSearch
  /// The stores serve several currencies, so the price needs one.
  case needsCurrency([String])
  /// The date is not in the future.
  case expired
  /// There are as many wishes as can be judged in a sync: 1,000.
  case tooMany
}

extension WishError: LocalizedError {
  public var errorDescription: String? {
    switch self {
    case .exists: "You have this wish already. It is unchanged."
    case .notFound: "There is no such wish."
    case .noSubject: "The store does not list what the wish is about. Nothing was changed."
    case .invalidSearch: "A search takes 1 to 10 words, of 200 bytes at most. Nothing was changed."
    case .invalidPrice: "A wished price is an amount above zero, such as 70 or 69.90. Nothing was changed."
    case .invalidPercentage: "A wished percentage is a whole number from 1 to 99. Nothing was changed."
    case .needsSearch: "Only a search can wish for something new. Nothing was changed."
    case .needsCurrency(let served):
      "The stores serve prices in \(served.joined(separator: " and ")): give the currency of the price. "
        + "Nothing was changed."
    case .expired: "A wish must expire in the future. Nothing was changed."
    case .tooMany: "There are 1,000 wishes, the most that can be judged. Remove some of them."
    }
  }
}
