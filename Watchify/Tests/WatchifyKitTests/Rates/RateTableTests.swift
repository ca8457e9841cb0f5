import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// The exchange-rate rule on generated shops: changes that are reported, missed and reported falsely. The results are
/// in docs/watchify.md; with `WATCHIFY_TABLE` set, the rows are printed.
@Suite(.timeLimit(.minutes(15))) struct RateTableTests {
  struct Shape: CustomTestStringConvertible, Sendable {
    var products: Int
    var rounding: Rounding
    var testDescription: String { "\(products) products in \(rounding.rawValue)" }
    var isFine: Bool { rounding == .cents || rounding == .fives }
    var isLarge: Bool { products == 2_000 }
    /// The seeds of the generated shops, so that each size has enough samples.
    var shops: Range<UInt64> { 0..<(isLarge ? 1 : products == 1 ? 24 : 8) }

    func shop(_ generator: inout SeededGenerator) -> ConvertedShop {
      ConvertedShop(products: products, rounding, using: &generator)
    }
  }

  static let shapes = [1, 5, 50, 2_000].flatMap { count in
    Rounding.allCases.map { Shape(products: count, rounding: $0) }
  }

  private func row(_ text: String) {
    if ProcessInfo.processInfo.environment["WATCHIFY_TABLE"] != nil { print("TABLE \(text)") }
  }

  @Test("Moves of the rate are no news", arguments: shapes)
  func moves(shape: Shape) {
    var (moves, told) = (0, 0)
    for seed in shape.shops {
      var generator = SeededGenerator(seed: seed)
      var shop = shape.shop(&generator)
      for _ in 0..<(shape.isLarge ? 12 : 40) {
        shop.drift(using: &generator)
        moves += 1
        if !shop.read().isEmpty { told += 1 }
      }
    }
    row("moves, \(shape.testDescription): \(told) of \(moves)")
    // A single price in tens and fives may be mistaken for one in units.
    #expect(told == 0 || (shape.products == 1 && !shape.isFine && told * 100 <= moves), "\(told) of \(moves)")
  }

  @Test("A true cut is reported if it exceeds the rounding and the listing determines the rate", arguments: shapes)
  func cuts(shape: Shape) {
    for percent in [1.0, 2, 3, 5, 10] {
      var (cuts, told, visible, missed, wrong, sure) = (0, 0, 0, 0, 0, 0)
      for seed in shape.shops {
        var generator = SeededGenerator(seed: seed)
        var shop = shape.shop(&generator)
        var cut: Set<Int64> = []
        for _ in 0..<(shape.isLarge ? 12 : 6) {
          let index = Int.random(in: 0..<shape.products, using: &generator)
          let amount = shop.prices[index] * shop.rate
          cut.insert(Int64(index + 1))
          shop.drift(using: &generator)
          shop.prices[index] *= 1 - percent / 100
          let news = shop.read()
          let own = news.filter { $0.productID == Int64(index + 1) && $0.type == .priceDropped }
          cuts += 1
          if !own.isEmpty { told += 1 }
          sure += own.count { !$0.isUnsure }
          wrong += news.count { !cut.contains($0.productID ?? 0) }
          // Rounding may hide a step of the old price and one of the new price.
          guard amount * percent / 100 > 2 * shape.rounding.step(amount) else { continue }
          visible += 1
          if own.isEmpty { missed += 1 }
        }
      }
      row("cuts of \(percent) %, \(shape.testDescription): told \(told) of \(cuts), sure \(sure), beside \(wrong)")
      #expect(wrong * 12 <= cuts, "\(percent) %: \(wrong) of \(cuts)")
      switch (shape.products, shape.isFine) {
      case (1, true):
        #expect(sure * 100 <= cuts, "one price does not determine the rate")
        if percent >= 3 { #expect(missed * 12 <= visible, "\(percent) %: \(missed) of \(visible)") }
      case (_, true): #expect(missed * 24 <= visible, "\(percent) %: \(missed) of \(visible)")
      case (1, false): if percent < 10 { #expect(sure * 12 <= cuts, "\(percent) %: \(sure) of \(cuts)") }
      case (5, false): if percent >= 10 { #expect(told * 5 >= cuts * 4, "\(percent) %: \(told) of \(cuts)") }
      case (_, false): #expect(missed * 8 <= max(visible, 8), "\(percent) %: \(missed) of \(visible)")
      }
    }
  }

  @Test("Eight weekly cuts of 2.5 % are reported", arguments: shapes)
  func slides(shape: Shape) {
    var (slides, told) = (0, 0)
    for seed in shape.shops {
      var generator = SeededGenerator(seed: seed)
      var shop = shape.shop(&generator)
      var news: [DetectedChange] = []
      for _ in 0..<8 {
        for _ in 0..<3 {
          shop.drift(using: &generator)
          news += shop.read()
        }
        shop.drift(using: &generator)
        shop.prices[0] *= 0.975
        news += shop.read()
      }
      slides += 1
      if news.contains(where: { $0.productID == 1 && $0.type == .priceDropped }) { told += 1 }
    }
    row("slides, \(shape.testDescription): \(told) of \(slides)")
    #expect(told == slides || (shape.products == 1 && told * 10 >= slides * 9), "\(told) of \(slides)")
  }

  @Test(
    "A sale of everything is reported; a small one in a small shop is reported as unsure",
    arguments: [1, 5, 50], [2.5, 5.0, 20.0])
  func sale(products: Int, percent: Double) {
    // A step of a whole unit may be the larger part of a small sale.
    for rounding in percent < 3 ? [Rounding.cents] : [.cents, .units] {
      var generator = SeededGenerator(seed: 3)
      var shop = ConvertedShop(products: products, rounding, using: &generator)
      shop.prices = shop.prices.map { 60 + $0 }
      _ = shop.read()
      for index in shop.prices.indices { shop.prices[index] *= 1 - percent / 100 }
      shop.rate *= 1.001
      let news = shop.read().filter { $0.type == .priceDropped }
      let isRate = percent < 3 && products == 50
      #expect(news.count == (isRate ? 0 : products), "\(rounding)")
      #expect(news.allSatisfy { $0.isUnsure == (percent < 10) }, "\(rounding)")
    }
  }

  @Test("A cut that the rate cancels out is reported once it shows; later prices are compared with the reported one")
  func hidden() {
    var generator = SeededGenerator(seed: 5)
    var shop = ConvertedShop(products: 50, .cents, using: &generator)
    let first = shop.served(0)
    shop.rate *= 1.015
    shop.prices[0] *= 0.99
    #expect(shop.read().isEmpty, "it costs more than before")
    shop.rate /= 1.015
    let news = shop.read()
    #expect(news.map(\.productID) == [1] && news.map(\.oldPrice) == [first] && news.map(\.newPrice) == [shop.served(0)])
    for _ in 0..<20 {
      shop.drift(using: &generator)
      #expect(shop.read().isEmpty)
    }
  }

  @Test("A price is reported as unsure if the rate has moved far since it was reported")
  func far() {
    var generator = SeededGenerator(seed: 6)
    var shop = ConvertedShop(products: 50, .cents, using: &generator)
    var news: [DetectedChange] = []
    for _ in 0..<16 {
      shop.rate *= 0.99
      news += shop.read()
    }
    #expect(Set(news.compactMap(\.productID)).count == 50 && news.count == 50)
    #expect(news.allSatisfy { $0.isUnsure && $0.type == .priceDropped })
  }
}
