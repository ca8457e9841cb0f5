/// The changes of a store that were reported in other markets since the last read of one market. What a shop changes
/// once is reported once, in the market in which it was found first.
struct ToldElsewhere: Equatable, Sendable {
  /// What a change is about. Newer changes of the same kind replace older ones.
  private struct Subject: Hashable {
    enum Kind: Hashable { case price, compareAt, stock, listing, images }

    var kind: Kind
    var product: Int64?
    var variant: Int64?

    init?(_ change: DetectedChange) {
      switch change.type {
      case .priceDropped, .priceIncreased: kind = .price
      case .compareAtChanged: kind = .compareAt
      case .backInStock, .outOfStock: kind = .stock
      case .productRemoved, .productReturned: kind = .listing
      case .imagesChanged: kind = .images
      case .newProduct, .newVariant, .currencyChanged, .storeClosed, .storeReopened, .wishFulfilled: return nil
      }
      (product, variant) = (change.productID, change.variantID)
    }
  }

  private struct Told: Equatable {
    var type: ChangeType
    /// The factor by which all reported changes of a price moved it; `nil` if there was none before or after.
    var factor: Double?
    var hasPrice: Bool
  }

  private var told: [Subject: Told] = [:]
  /// The factors by which prices were reported to move in the market itself before it was left: the first report from
  /// another market may include them.
  private var before: [Subject: Double] = [:]

  /// Adds a change that was reported elsewhere; the oldest must come first.
  mutating func add(_ change: DetectedChange) {
    guard let subject = Subject(change) else { return }
    let factor = change.factor.map { $0 * (told[subject]?.factor ?? 1) }
    told[subject] = Told(type: change.type, factor: factor, hasPrice: change.newPrice != nil)
  }

  /// Adds a change that was reported in the market, during the last stay.
  mutating func add(before change: DetectedChange) {
    guard let subject = Subject(change), let factor = change.factor, factor > 0 else { return }
    before[subject, default: 1] *= factor
  }

  /// Whether a change was reported in another market. A price moves there in the same direction and by the same factor,
  /// within some percent or the rounding of both prices.
  func covers(_ change: DetectedChange, within percent: UInt64 = 0) -> Bool {
    guard !told.isEmpty, let subject = Subject(change), let told = told[subject] else { return false }
    guard subject.kind == .price || subject.kind == .compareAt else { return told.type == change.type }
    guard let old = change.oldPrice, let new = change.newPrice, let factor = told.factor else {
      return told.factor == nil && change.factor == nil && told.hasPrice == (change.newPrice != nil)
    }
    let unit = [old, new].allSatisfy { $0.tenThousandths % Price.scale == 0 } ? Price.scale : Price.scale / 100
    let (from, to) = (Double(old.tenThousandths), Double(new.tenThousandths))
    return [factor, factor / (before[subject] ?? 1)].contains { factor in
      let expected = (from * factor).rounded()
      // Half a unit of the new price, and of the old one times the factor.
      let rounding = Double(unit) / 2 * (1 + factor)
      return (expected - from) * (to - from) > 0
        && abs(to - expected) <= max(expected * Double(percent) / 100, rounding)
    }
  }
}

extension DetectedChange {
  /// The factor by which the price moved; `nil` unless there was a price before and after.
  fileprivate var factor: Double? {
    guard let oldPrice, let newPrice, oldPrice > .zero else { return nil }
    return Double(newPrice.tenThousandths) / Double(oldPrice.tenThousandths)
  }
}
