import Foundation
import Testing

@testable import WatchifyKit

/// Returns a product with one available variant per price.
func product(
  _ id: Int64, prices: [String] = ["100.00"], images: [String] = ["https://c/a.jpg?v=1"], title: String? = nil
) -> ShopifyProduct {
  ShopifyProduct(
    id: id, title: title ?? "Product \(id)", handle: "product-\(id)", images: images.map(ShopifyImage.init),
    variants: prices.enumerated().map { index, price in
      ShopifyVariant(
        id: id * 100 + Int64(index), title: prices.count == 1 ? "Default Title" : "Size \(index)",
        price: Price(price) ?? .zero, available: true, position: index + 1)
    })
}

@Suite struct ChangeDetectionTests {
  private let market = Market(country: "US", currency: "USD")

  private func stored(_ products: [ShopifyProduct]) -> [Int64: StoredProduct] {
    Dictionary(products.map { ($0.id, StoredProduct($0, market)) }) { first, _ in first }
  }

  private func changes(
    _ old: [ShopifyProduct], _ new: [ShopifyProduct], isComplete: Bool = true, before: Market? = nil,
    now: Market? = nil, base: String? = "USD", rules: DetectionRules = DetectionRules(),
    unreadable: Set<UnreadableEntry> = []
  ) -> ChangeSet {
    var reading = ShopReading(products: new, isComplete: isComplete)
    reading.unreadable = unreadable
    return ChangeDetection.changes(
      from: stored(old), to: reading, before: before ?? market, now: now ?? market, baseCurrency: base, rules: rules)
  }

  @Test("An unchanged read writes and reports nothing")
  func same() {
    let products = [product(1), product(2, prices: ["5", "6.50"])]
    #expect(changes(products, products) == ChangeSet())
    var touched = products
    touched[0].images = [ShopifyImage(src: "https://c/a.jpg?v=2")]
    #expect(changes(products, touched) == ChangeSet(), "only the image's query changed")
  }

  // Requirement 2.23
  @Test("The first read reports no news, and every variant gets its first snapshot")
  func first() {
    let set = ChangeDetection.changes(
      from: [:], to: ShopReading(products: [product(1, prices: ["1", "2"])], isComplete: true), before: nil,
      now: market, baseCurrency: nil)
    #expect(set.news.isEmpty && set.products.count == 1)
    #expect(set.products[0].isNew && set.products[0].snapshots == [100, 101])
  }

  // Requirements 2.24, 2.40
  @Test(
    "A price's magnitude is exact at its limits",
    arguments: [
      ("100", "74.99", ChangeType.priceDropped, ChangeMagnitude.large), ("100", "75", .priceDropped, .medium),
      ("100", "89.99", .priceDropped, .medium), ("100", "90", .priceDropped, .small),
      ("164.80", "137.60", .priceDropped, .medium), ("100", "130", .priceIncreased, .large),
      ("0", "10", .priceIncreased, .small), ("1099000.00", "1", .priceDropped, .large),
    ])
  func prices(old: String, new: String, type: ChangeType, magnitude: ChangeMagnitude) {
    let set = changes([product(1, prices: [old])], [product(1, prices: [new])])
    #expect(set.news.map(\.type) == [type] && set.news.map(\.magnitude) == [magnitude])
    #expect(set.news[0].oldPrice == Price(old) && set.news[0].newPrice == Price(new))
    #expect(set.news[0].variantTitle == nil, "a product's only variant has no name")
    #expect(set.products.map(\.snapshots) == [[100]])
  }

  @Test("A list of variants that is cut to 250 for some reads is no restock when it is whole again")
  func cutVariants() {
    let whole = product(1, prices: [String](repeating: "10", count: 2_048))
    var cut = whole
    cut.variants.removeLast(1_798)
    #expect(changes([whole], [cut]) == ChangeSet(), "the others are unknown")
    cut.variants[3].price = Price("8") ?? .zero
    #expect(changes([whole], [cut]).products.map(\.snapshots) == [[103]])
    var other = whole
    other.variants.removeFirst(1_798)
    #expect(changes([whole], [other]).products[0].product.variants.count == 1_798, "not from the beginning")
    other.variants = Array(whole.variants.prefix(249))
    #expect(changes([whole], [other]).products[0].product.variants.count == 1_799, "not at the limit")
    other.variants = whole.variants.prefix(251).filter { $0.id != 103 }
    #expect(changes([whole], [other]).products.first?.product.variants.map(\.id) == [103], "missing before the end")
    other.variants = whole.variants.prefix(250).filter { $0.id != 103 }
    let unreadable = UnreadableEntry(product: 1, variant: 103)
    #expect(changes([whole], [other], unreadable: [unreadable]) == ChangeSet(), "one of the first is undecodable")
  }

  // Requirement 2.24
  @Test("Stock and price of one variant can change together, and variants are named")
  func together() {
    let old = product(1, prices: ["10", "10"])
    var new = product(1, prices: ["10", "8"])
    new.variants[1].available = false
    let set = changes([old], [new])
    #expect(
      set.news.map(\.type) == [.priceDropped, .outOfStock] && set.news.allSatisfy { $0.variantTitle == "Size 1" })
    #expect(changes([new], [old]).news.map(\.type) == [.priceIncreased, .backInStock])
    #expect(set.products[0].product.variants.map(\.id) == [101], "only what changed is written")
  }

  // Requirement 2.24
  @Test("A compare-at price, a new variant and a missing one")
  func variants() {
    let old = product(1, prices: ["10", "12"])
    var new = old
    new.variants[0].compareAtPrice = Price("15")
    new.variants[1].id = 999
    let set = changes([old], [new])
    #expect(set.news.map(\.type) == [.compareAtChanged, .newVariant])
    #expect(set.products[0].product.variants.first { $0.id == 101 }?.isMissing == true, "its history is kept")
    #expect(set.products[0].snapshots == [100, 999])
  }

  @Test("A stored compare-at price of zero is none")
  func noCompareAtPrice() {
    var (old, new) = (product(1), product(1))
    old.variants[0].compareAtPrice = .zero
    let set = changes([old], [new])
    #expect(set.news.isEmpty && set.products.first?.product.variants.map(\.compareAtPrice) == [nil])
    new.variants[0].compareAtPrice = Price("120")
    #expect(changes([old], [new]).news.map(\.oldPrice) == [nil])
  }

  // Requirement 2.24
  @Test("Pictures are compared in their order and without their queries")
  func images() {
    let old = product(1, images: ["a?v=1", "b?v=1"])
    for (images, text) in [
      (["a?v=2"], "1 image"), (["a", "c"], "2 images, 1 replaced"), (["b", "a"], "2 images, in another order"),
    ] {
      let set = changes([old], [product(1, images: images)])
      #expect(set.news.map(\.type) == [.imagesChanged] && set.news[0].newText == text)
      #expect(set.news[0].oldText == "2 images")
      #expect(set.products[0].snapshots.isEmpty)
    }
  }

  // Requirement 2.25
  @Test("A product is removed at the second complete read without it, and never by an incomplete one")
  func removal() {
    let (one, two) = (product(1), product(2))
    let first = changes([one, two], [one])
    #expect(first.news.isEmpty && first.products.map(\.product.missingReads) == [1])
    #expect(changes([one, two], [one], isComplete: false) == ChangeSet())
    #expect(changes([one, two], []) == ChangeSet(), "an empty listing proves nothing")
    let rules = DetectionRules(readsUntilRemoved: 1)
    #expect(changes([one, two], [one], rules: rules).news.map(\.type) == [.productRemoved])

    var known = stored([one, two])
    known[2]?.missingReads = 1
    let second = ChangeDetection.changes(
      from: known, to: ShopReading(products: [one], isComplete: true), before: market, now: market, baseCurrency: nil)
    #expect(second.news.map(\.type) == [.productRemoved] && second.news[0].productTitle == "Product 2")
    #expect(second.products[0].product.isRemoved)

    known[2] = second.products[0].product
    known[2]?.variants = [StoredVariant(two.variants[0], market)]
    let third = ChangeDetection.changes(
      from: known, to: ShopReading(products: [one], isComplete: true), before: market, now: market, baseCurrency: nil)
    #expect(third == ChangeSet(), "it is reported only once")
    let back = ChangeDetection.changes(
      from: known, to: ShopReading(products: [one, two], isComplete: false), before: market, now: market,
      baseCurrency: nil)
    #expect(back.news.map(\.type) == [.productReturned] && !back.products[0].product.isRemoved)
  }

  @Test("A product that was missing only once returns without news")
  func missingReturns() {
    var known = stored([product(1)])
    known[1]?.missingReads = 1
    let set = ChangeDetection.changes(
      from: known, to: ShopReading(products: [product(1)], isComplete: true), before: market, now: market,
      baseCurrency: nil)
    #expect(set.news.isEmpty && set.products.map(\.product.missingReads) == [0])
  }

  @Test("Another currency or market is one event and a new baseline")
  func currency() {
    let sgd = Market(country: "US", currency: "SGD")
    let set = changes([product(1), product(2)], [product(1, prices: ["140"]), product(3)], now: sgd)
    #expect(set.news.map(\.type) == [.currencyChanged] && set.news[0].newText == "SGD" && set.isBaseline)
    #expect(set.products.map(\.product.id) == [1, 3, 2] && set.products[0].snapshots == [100])
    #expect(set.products[2].product.isRemoved, "values of the other market are set aside without news")
    let market = Market(country: "SG", currency: "USD")
    #expect(changes([product(1)], [product(1, prices: ["1"])], now: market).news.map(\.type) == [.currencyChanged])
    let silent = Market(country: "US", currency: nil)
    #expect(changes([product(1)], [product(1, prices: ["1"])], now: silent).news.map(\.type) == [.priceDropped])
  }

  @Test("In a converted currency small moves are written but not reported")
  func converted() {
    let set = changes([product(1)], [product(1, prices: ["99.60"])], base: "EUR")
    #expect(set.news.isEmpty && set.products.map(\.snapshots) == [[100]])
    #expect(changes([product(1)], [product(1, prices: ["98.10"])], base: "EUR").news.isEmpty, "within the limit")
    let drop = changes([product(1)], [product(1, prices: ["97"])], base: "EUR").news
    #expect(drop.map(\.type) == [.priceDropped] && drop[0].isUnsure, "one price does not determine the rate")
  }

  @Test("A rounded price moves by a whole step with the rate; any other move is news")
  func rounding() {
    let old = (1...6).map { product(Int64($0), prices: [$0 == 6 ? "115" : "50"]) }
    func after(_ drift: String, _ rounded: String) -> [ShopifyProduct] {
      (1...6).map { product(Int64($0), prices: [$0 == 6 ? rounded : drift]) }
    }
    #expect(changes(old, after("49", "110"), base: "GBP").news.isEmpty)
    #expect(changes(old, after("50", "110"), base: "GBP").news.isEmpty, "a small move of the rate makes one step, too")
    #expect(changes(old, after("51", "110"), base: "GBP").news.map(\.type) == [.priceDropped], "the other way")
    #expect(changes(old, after("49", "109"), base: "GBP").news.map(\.type) == [.priceDropped], "no whole step")
    #expect(changes(old, after("49", "90"), base: "GBP").news.map(\.type) == [.priceDropped], "too much")
  }

  @Test("A feed that repeats ids is read once")
  func duplicates() {
    var twice = product(1)
    twice.variants.append(twice.variants[0])
    let set = changes([product(1)], [twice, product(1, prices: ["1"])])
    #expect(set == ChangeSet())
  }
}

@Suite struct PriceTests {
  @Test(
    "Decimal text is read exactly",
    arguments: [
      ("164.80", 1_648_000), ("2200", 22_000_000), ("1099000.00", 10_990_000_000), ("12.345", 123_450), ("0.00", 0),
      ("-1.5", -15_000), ("0.00010000", 1), ("900000000000000.0000", 9_000_000_000_000_000_000),
    ])
  func valid(text: String, value: Int64) { #expect(Price(text)?.tenThousandths == value) }

  @Test(
    "Other text is rejected",
    arguments: ["", "-", ".", "1.", ".5", "1,5", "$1", " 1", "1 ", "1e3", "0.00001", "99999999999999999", "٣", "--1"])
  func invalid(text: String) { #expect(Price(text) == nil) }

  @Test("A price round-trips through its text form")
  func words() {
    for text in ["164.80", "2200.00", "12.345", "-0.50", "0.00", "0.0001"] { #expect(Price(text)?.description == text) }
    #expect(Price("164.80")?.decimal.description == "164.8")
  }
}
