/// What kind of news an event is. The raw values of the first seven are document 2's; never change a released one.
public enum ChangeType: String, Codable, CaseIterable, Sendable {
  /// A variant costs less.
  case priceDropped
  /// A variant costs more.
  case priceIncreased
  /// A variant can be bought again.
  case backInStock
  /// A variant cannot be bought any more.
  case outOfStock
  /// A product is listed for the first time.
  case newProduct
  /// A product is no longer listed.
  case productRemoved
  /// A product has other pictures.
  case imagesChanged
  /// A product that was removed is sold again.
  case productReturned
  /// A known product has a further size, colour or form.
  case newVariant
  /// The crossed-out price is another one.
  case compareAtChanged
  /// The shop serves another currency or market: everything was taken as it is now, without news.
  case currencyChanged
  /// The shop asks for a password.
  case storeClosed
  /// The shop can be read again.
  case storeReopened

  /// Its place in the database. Never change a released one.
  var code: Int64 {
    switch self {
    case .priceDropped: 1
    case .priceIncreased: 2
    case .backInStock: 3
    case .outOfStock: 4
    case .newProduct: 5
    case .productRemoved: 6
    case .imagesChanged: 7
    case .productReturned: 8
    case .newVariant: 9
    case .compareAtChanged: 10
    case .currencyChanged: 11
    case .storeClosed: 12
    case .storeReopened: 13
    }
  }

  init?(code: Int64) {
    guard let type = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = type
  }

  /// Whether it is about a price or about stock, of one variant.
  var isStock: Bool { self == .backInStock || self == .outOfStock }
  var isPrice: Bool { self == .priceDropped || self == .priceIncreased }
}

/// How large a change is (document 2).
public enum ChangeMagnitude: String, Codable, CaseIterable, Sendable {
  /// A price that moved by 10 % at most.
  case small
  /// A price that moved by more than 10 % and at most 25 %, and everything that is not about a price.
  case medium
  /// A price that moved by more than 25 %.
  case large

  /// Of a price: above 25 % is large, above 10 % medium, anything else small; from zero, small.
  public init(from old: Price, to new: Price) {
    let (old, change) = (old.tenThousandths.magnitude, (new - old).tenThousandths.magnitude)
    if old == 0 {
      self = .small
    } else if Self.exceeds(change, old, percent: 25) {
      self = .large
    } else {
      self = Self.exceeds(change, old, percent: 10) ? .medium : .small
    }
  }

  /// Whether a change is more than so many hundredths of what was there.
  static func exceeds(_ change: UInt64, _ old: UInt64, percent: UInt64) -> Bool {
    let (left, right) = (change.multipliedFullWidth(by: 100), old.multipliedFullWidth(by: percent))
    return (left.high, left.low) > (right.high, right.low)
  }
}
