public import Foundation

/// The smallest price change that is notified.
///
/// Raw values are stored; never change a released one. "$5" means 5 units of the store's currency, whichever that is.
/// Percentages are exact, so a change of exactly 10 % satisfies "At least 10%".
public enum PriceThreshold: String, Codable, CaseIterable, Sendable {
  /// Any price change.
  case any = "Any amount"
  /// 5 units of the store's currency.
  case fiveDollars = "At least $5"
  /// 10 units of the store's currency.
  case tenDollars = "At least $10"
  /// 25 units of the store's currency.
  case twentyFiveDollars = "At least $25"
  /// A tenth of the old price.
  case tenPercent = "At least 10%"
  /// A quarter of the old price.
  case twentyFivePercent = "At least 25%"

  /// The smallest amount, in units of the store's currency; `nil` if the threshold is not an amount.
  public var minDollars: Decimal? {
    switch self {
    case .fiveDollars: 5
    case .tenDollars: 10
    case .twentyFiveDollars: 25
    case .any, .tenPercent, .twentyFivePercent: nil
    }
  }

  /// The smallest change, in percent of the old price; `nil` if the threshold is not a percentage.
  public var minPercent: Int? {
    switch self {
    case .tenPercent: 10
    case .twentyFivePercent: 25
    case .any, .fiveDollars, .tenDollars, .twentyFiveDollars: nil
    }
  }

  /// Returns whether a change reaches the threshold. A change that is not about a price, or whose prices are unknown,
  /// always does.
  public func isSatisfied(by change: ChangeEventDTO) -> Bool {
    guard change.changeType.isPrice, let old = change.oldPrice, let new = change.newPrice else { return true }
    return isSatisfied(from: old, to: new)
  }

  func isSatisfied(from old: Decimal, to new: Decimal) -> Bool {
    let move = abs(new - old)
    if let minDollars { return move >= minDollars }
    if let minPercent { return old == 0 || move * 100 >= old * Decimal(minPercent) }
    return true
  }
}
