import CofferTesting
import Foundation

@testable import WatchifyKit

/// The rounding of converted prices.
enum Rounding: String, CaseIterable, Sendable {
  case cents = "cents"
  case fives = "5 cents"
  case ninetyFive = ".95"
  case units = "units"
  /// Whole units below 100, fives from there on, tens from 500 on.
  case tiers = "1, 5, 10"

  func price(_ amount: Double) -> Price {
    func nearest(_ step: Double, _ offset: Double = 0) -> Double {
      ((amount - offset) / step).rounded() * step + offset
    }
    let rounded =
      switch self {
      case .cents: nearest(0.01)
      case .fives: nearest(0.05)
      case .ninetyFive: nearest(1, 0.95)
      case .units: nearest(1)
      case .tiers: nearest(amount < 100 ? 1 : amount < 500 ? 5 : 10)
      }
    return Price(tenThousandths: Int64((max(rounded, 0.01) * 100).rounded()) * 100)
  }

  /// Returns the largest rounding error at a price.
  func step(_ amount: Double) -> Double {
    switch self {
    case .cents: 0.01
    case .fives: 0.05
    case .ninetyFive, .units: 1
    case .tiers: amount < 100 ? 1 : amount < 500 ? 5 : 10
    }
  }
}

/// A shop that converts and rounds its prices, with the state that Watchify keeps of it.
struct ConvertedShop {
  let rounding: Rounding
  /// The prices in the base currency.
  var prices: [Double]
  var rate = 1.27
  /// The base currency; `nil` if the shop does not state it.
  var baseCurrency: String? = "GBP"
  private(set) var stored: [Int64: StoredProduct] = [:]
  private var memory = DetectionMemory(isKnownMarket: true)
  private static let market = Market(country: "US", currency: "USD")

  init(products: Int, _ rounding: Rounding, using generator: inout SeededGenerator) {
    self.rounding = rounding
    prices = (0..<products).map { _ in
      // Many low prices and a few high ones.
      let price = 8 * exp(Double.random(in: 0...3.6, using: &generator))
      return Bool.random(using: &generator) ? price.rounded() : price.rounded() - 0.01
    }
    _ = read(isFirst: true)
  }

  /// Creates a shop with given prices.
  init(serving prices: [Double], baseCurrency: String?) {
    (rounding, self.prices, rate, self.baseCurrency) = (.cents, prices, 1, baseCurrency)
    _ = read(isFirst: true)
  }

  /// Returns the served price.
  func served(_ product: Int) -> Price { rounding.price(prices[product] * rate) }

  /// Reads the shop again; returns the news.
  mutating func read(isFirst: Bool = false, after days: Double = 0) -> [DetectedChange] {
    memory.age = days * 86_400
    let products = prices.indices.map { index in
      ShopifyProduct(
        id: Int64(index + 1), title: "", handle: "",
        variants: [ShopifyVariant(id: 1, title: ShopifyVariant.onlyTitle, price: served(index), available: true)])
    }
    let changes = ChangeDetection.changes(
      from: stored, to: ShopReading(products: products, isComplete: true), before: isFirst ? nil : Self.market,
      now: Self.market, baseCurrency: baseCurrency, memory: memory)
    for change in changes.products { stored[change.product.id] = change.product }
    memory.rate = changes.rate
    return changes.news
  }

  /// Moves the rate by a realistic amount: mostly by tenths of a percent, sometimes by more.
  mutating func drift(using generator: inout SeededGenerator) {
    let isLarge = Int.random(in: 0..<20, using: &generator) == 0
    rate *= 1 + Double.random(in: isLarge ? -0.015...0.015 : -0.004...0.004, using: &generator)
  }
}
