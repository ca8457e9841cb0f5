/// The kind of change that an event reports. Raw values appear in exported data; never change a released one.
public enum ChangeType: String, Codable, CaseIterable, Sendable {
  /// A variant costs less.
  case priceDropped
  /// A variant costs more.
  case priceIncreased
  /// A sold-out variant is available again.
  case backInStock
  /// A variant is sold out.
  case outOfStock
  /// A product is listed for the first time.
  case newProduct
  /// A product is no longer listed.
  case productRemoved
  /// The images of a product changed.
  case imagesChanged
  /// A removed product is listed again.
  case productReturned
  /// A known product has a new variant, such as a size or colour.
  case newVariant
  /// The crossed-out price of a variant changed.
  case compareAtChanged
  /// The shop serves another currency or market. The values of the new market became the baseline, without events.
  case currencyChanged
  /// The shop is closed by a password.
  case storeClosed
  /// The shop can be read again.
  case storeReopened
  /// A wish came true.
  case wishFulfilled

  /// The value in the database. Never change a released one.
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
    case .wishFulfilled: 14
    }
  }

  init?(code: Int64) {
    guard let type = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = type
  }

  /// Whether the change is about the availability of a variant.
  var isStock: Bool { self == .backInStock || self == .outOfStock }
  /// Whether the change is about the price of a variant.
  var isPrice: Bool { self == .priceDropped || self == .priceIncreased }
}

/// The size of a change.
public enum ChangeMagnitude: String, Codable, CaseIterable, Sendable {
  /// A price that moved by 10 % at most.
  case small
  /// A price that moved by more than 10 % and at most 25 %, and everything that is not about a price.
  case medium
  /// A price that moved by more than 25 %.
  case large

  /// Creates the magnitude of a price change: large above 25 %, medium above 10 %, otherwise small. A change from zero
  /// is small.
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

  /// Whether a change is more than `percent` percent of the old value.
  static func exceeds(_ change: UInt64, _ old: UInt64, percent: UInt64) -> Bool {
    let (left, right) = (change.multipliedFullWidth(by: 100), old.multipliedFullWidth(by: percent))
    return (left.high, left.low) > (right.high, right.low)
  }
}
