import CofferTesting
import Testing

@testable import WatchifyKit

/// Unchanged prices as evidence for an unchanged rate.
@Suite(.timeLimit(.minutes(15))) struct UnchangedPricesTests {
  @Test(
    "If the base currency is unknown and no other price changes, a cut within the rounding is reported",
    arguments: [5, 10, 30, 300], [0.06, 0.1])
  func plainCut(products: Int, share: Double) {
    for price in [50.0, 100, 120, 200, 1_000] {
      var prices = (0..<products).map { Double(40 + $0 % 30 * 10) }
      prices[2] = price
      var shop = ConvertedShop(serving: prices, baseCurrency: nil)
      shop.prices[2] *= 1 - share
      let news = shop.read()
      #expect(news.map(\.productID) == [3] && news.allSatisfy { $0.type == .priceDropped }, "\(price)")
      #expect(shop.read().isEmpty)
      shop.prices[2] = price
      #expect(shop.read().map(\.type) == [.priceIncreased], "\(price)")
    }
  }

  @Test(
    "A cut of most prices is no move of the rate if the others are exactly unchanged",
    arguments: [0.5, 0.6, 0.7], [0.975, 0.98, 1.025])
  func majority(share: Double, factor: Double) {
    for products in [8, 20, 50, 200] {
      var generator = SeededGenerator(seed: UInt64(products))
      var shop = ConvertedShop(products: products, .cents, using: &generator)
      let cut = min(products - 2, Int(Double(products) * share))
      for index in 0..<cut { shop.prices[index] *= factor }
      let news = shop.read()
      let expected = Set((0..<cut).map { Int64($0 + 1) })
      #expect(Set(news.compactMap(\.productID)) == expected && news.count == cut, "\(products)")
      #expect(news.allSatisfy { $0.type == (factor < 1 ? .priceDropped : .priceIncreased) })
      for _ in 0..<6 {
        shop.drift(using: &generator)
        #expect(shop.read().isEmpty, "\(products)")
      }
    }
  }

  @Test("A few prices that never follow the rate do not fix it")
  func fixedPrices() {
    var generator = SeededGenerator(seed: 11)
    var shop = ConvertedShop(products: 60, .cents, using: &generator)
    var fixed = (0..<10).map { shop.prices[$0] * shop.rate }
    for move in [1.004, 0.98, 1.02, 0.99] {
      shop.rate *= move
      for index in fixed.indices { shop.prices[index] = fixed[index] / shop.rate }
      #expect(shop.read().isEmpty, "\(move)")
    }
    fixed[0] *= 0.9
    shop.prices[0] = fixed[0] / shop.rate
    #expect(shop.read().map(\.productID) == [1])
  }

  @Test("The longer ago the last read, the further the rate may have moved, up to 9 %")
  func age() {
    for (days, percent, isRate) in [
      (1.0, 3.5, false), (30, 3.5, true), (30, 8, false), (70, 8, true), (70, -8, true), (1_000, 10, false),
    ] {
      var generator = SeededGenerator(seed: 12)
      var shop = ConvertedShop(products: 50, .cents, using: &generator)
      shop.rate *= 1 + percent / 100
      #expect(shop.read(after: days).isEmpty == isRate, "\(days), \(percent)")
    }
  }
}
