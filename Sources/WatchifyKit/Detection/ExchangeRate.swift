/// Tells moves of an exchange rate from moves of a price, in a shop that converts its prices from another currency.
struct ExchangeRate: Equatable, Sendable {
  /// Up to so many hundredths a move is the rate.
  let percent: UInt64
  /// How many prices moved that little, by direction.
  private var (risen, fallen) = (0, 0)

  /// - Parameters:
  ///   - percent: up to which a move is the rate.
  ///   - stored: what is known.
  ///   - reading: what was read.
  init(percent: UInt64, from stored: [Int64: StoredProduct], to reading: ShopReading) {
    self.percent = percent
    for product in reading.products {
      guard let old = stored[product.id] else { continue }
      for variant in product.variants {
        guard let known = old.variants.first(where: { $0.id == variant.id }), known.price != variant.price,
          !Self.exceeds(percent, known.price, variant.price)
        else { continue }
        if variant.price > known.price { risen += 1 } else { fallen += 1 }
      }
    }
  }

  /// Whether a move is no more than the rate's, or the rate's after rounding.
  func explains(_ old: Price, _ new: Price) -> Bool {
    !Self.exceeds(percent, old, new) || isRounding(old, new)
  }

  /// Shops round what they have converted, dear prices to fives and tens, so that the smallest move of the rate makes
  /// a whole step of some prices. A step the way that other prices drift is that, up to three times the usual limit.
  private func isRounding(_ old: Price, _ new: Price) -> Bool {
    let others = new > old ? risen : fallen
    guard others >= 3, !Self.exceeds(3 * percent, old, new) else { return false }
    let move = (new - old).tenThousandths.magnitude
    return [500, 100, 50, 10, 5, 1].contains { units in
      let step = UInt64(units) * UInt64(Price.scale)
      return move == step && old.tenThousandths.magnitude % step == 0
    }
  }

  private static func exceeds(_ percent: UInt64, _ old: Price, _ new: Price) -> Bool {
    ChangeMagnitude.exceeds(
      (new - old).tenThousandths.magnitude, old.tenThousandths.magnitude, percent: percent)
  }
}
