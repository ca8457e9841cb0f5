/// The evidence of a listing for the exchange rate: one vote for each distinct price of each product.
struct RatePoll {
  /// A stored price and its new value.
  struct Vote {
    /// The ordinal of the product among those with votes.
    var product: Int
    var last: Price
    var reference: ReferencePrice
    var new: Price
  }

  /// The key that makes a vote unique within its product.
  private struct Ballot: Hashable {
    let new, last, reference: Price
  }

  private(set) var votes: [Vote] = []
  /// The number of products with votes.
  private(set) var products = 0
  /// Whether any price differs from the last read.
  private(set) var hasChanges = false
  /// The number of products with a price that differs from the last read.
  private(set) var changedProducts = 0
  /// The prices from which the rounding is inferred.
  private(set) var prices: [Price] = []

  init(from stored: [Int64: StoredProduct], to reading: ShopReading, market: Market) {
    hasChanges = Self.hasChanges(stored, reading)
    guard hasChanges else { return }
    for product in reading.products {
      guard let old = stored[product.id] else { continue }
      let first = votes.count
      var (cast, positions): (Set<Ballot>, VariantPositions) = ([], VariantPositions())
      for (index, variant) in product.variants.enumerated() {
        guard let known = positions.variant(variant.id, of: old, near: index),
          known.market.isComparable(to: market)
        else { continue }
        vote(Vote(product: products, last: known.price, reference: known.reference, new: variant.price), &cast)
        // A crossed-out price is converted too, and a sale does not change it.
        if let last = known.compareAtPrice, let new = variant.compareAtPrice {
          let reference = ReferencePrice(price: last, rate: .nan)
          vote(Vote(product: products, last: last, reference: reference, new: new), &cast)
        }
      }
      guard votes.count > first else { continue }
      products += 1
      if votes[first...].contains(where: { $0.last != $0.new }) { changedProducts += 1 }
    }
  }

  /// Whether any price differs; if not, which is usual, the poll is skipped.
  private static func hasChanges(_ stored: [Int64: StoredProduct], _ reading: ShopReading) -> Bool {
    reading.products.contains { product in
      guard let old = stored[product.id] else { return false }
      var positions = VariantPositions()
      return product.variants.enumerated().contains { index, variant in
        guard let known = positions.variant(variant.id, of: old, near: index) else { return false }
        return known.price != variant.price || known.compareAtPrice != variant.compareAtPrice
      }
    }
  }

  /// Adds a vote unless the product already has an equal one: its variants usually share one price.
  private mutating func vote(_ vote: Vote, _ cast: inout Set<Ballot>) {
    guard vote.last > .zero, vote.new > .zero, vote.reference.price > .zero else { return }
    guard cast.insert(Ballot(new: vote.new, last: vote.last, reference: vote.reference.price)).inserted else { return }
    votes.append(vote)
    prices.append(vote.new)
    if vote.last != vote.new { prices.append(vote.last) }
    if vote.reference.price != vote.new { prices.append(vote.reference.price) }
  }
}

/// The exchange rate that most votes agree on.
struct RateEstimate {
  private(set) var rate: Double
  /// The number of votes that the rate explains.
  private(set) var support = 0
  /// The number of products that these votes belong to.
  private(set) var products = 0
  /// The product that was counted last.
  private var last = -1
  /// The number of votes within the window.
  private(set) var inWindow = 0
  /// The median rate of all votes.
  let median: Double

  private struct Range {
    var low: Double
    var high: Double
  }

  /// Estimates the rate from votes.
  /// - Parameters:
  ///   - votes: the old and new values of single prices.
  ///   - rounding: the steps to which they are rounded.
  ///   - before: the rate at the last read.
  ///   - window: the largest move of the rate since then, as a fraction.
  init(votes: [RatePoll.Vote], rounding: PriceRounding, around before: Double, window: Double) {
    rate = before
    let ranges = votes.map { vote in
      let known = vote.reference.rate.isNaN ? before : vote.reference.rate
      let scale = known / Double(vote.reference.price.tenThousandths)
      // Rounding moves a price by less than a whole step: two prices a step apart in opposite directions disagree.
      let (new, step) = (
        Double(vote.new.tenThousandths),
        max(rounding.step(at: vote.new), rounding.step(at: vote.reference.price)) * 0.999_999
      )
      return Range(low: (new - step) * scale, high: (new + step) * scale)
    }
    median = ranges.isEmpty ? before : ranges.map { ($0.low + $0.high) / 2 }.sorted()[ranges.count / 2]
    let (least, most) = (before * (1 - window), before * (1 + window))
    guard let best = Self.best(ranges, least, most, before, &inWindow) else { return }
    let middle = (best.low + best.high) / 2
    if Self.isHeld(votes, ranges, against: middle) {
      rate = before
      for (vote, range) in zip(votes, ranges) where range.low <= before && range.high >= before { support(vote) }
      return
    }
    // Within the range that rounding leaves, the ratio of the sums is more precise than any single price.
    var (sum, expected) = (0.0, 0.0)
    for (vote, range) in zip(votes, ranges) where range.low <= middle && range.high >= middle {
      let known = vote.reference.rate.isNaN ? before : vote.reference.rate
      sum += Double(vote.new.tenThousandths)
      expected += Double(vote.reference.price.tenThousandths) / known
      support(vote)
    }
    rate = min(max(expected > 0 ? sum / expected : before, best.low), best.high)
  }

  /// Counts a vote; the votes of a product must be counted consecutively.
  private mutating func support(_ vote: RatePoll.Vote) {
    support += 1
    if vote.product != last { (products, last) = (products + 1, vote.product) }
  }

  /// Whether too many prices are exactly unchanged for the rate to have moved: a converted price moves with the rate,
  /// and few shops fix a quarter of their prices for a market.
  private static func isHeld(_ votes: [RatePoll.Vote], _ ranges: [Range], against rate: Double) -> Bool {
    var (products, last, held) = (0, -1, 0)
    for (vote, range) in zip(votes, ranges) where vote.last == vote.new && (range.low > rate || range.high < rate) {
      held += 1
      if vote.product != last { (products, last) = (products + 1, vote.product) }
    }
    return products >= 2 && held * 4 >= votes.count
  }

  /// Returns the part of the window that most ranges share; of several such parts, the nearest to `before`.
  private static func best(
    _ ranges: [Range], _ least: Double, _ most: Double, _ before: Double, _ inWindow: inout Int
  ) -> Range? {
    var ends: [(at: Double, isEnd: Bool)] = []
    for range in ranges where range.low <= most && range.high >= least {
      ends.append((max(range.low, least), false))
      ends.append((min(range.high, most), true))
      inWindow += 1
    }
    // Ranges that touch share a point, so beginnings sort first.
    ends.sort { $0.at == $1.at ? !$0.isEnd && $1.isEnd : $0.at < $1.at }
    var (open, largest): (Int, Int) = (0, 0)
    var best: Range?
    func distance(_ range: Range) -> Double { max(range.low - before, before - range.high, 0) }
    for (index, end) in ends.enumerated() {
      guard !end.isEnd else {
        open -= 1
        continue
      }
      open += 1
      guard open >= largest, let next = ends[(index + 1)...].first else { continue }
      let range = Range(low: end.at, high: next.at)
      if open > largest || best.map({ distance(range) < distance($0) }) ?? true { best = range }
      largest = open
    }
    return best
  }
}

/// An index of a product's variants by id, built on demand for products with thousands of reordered variants.
private struct VariantPositions {
  private var positions: [Int64: Int]?

  mutating func variant(_ id: Int64, of product: StoredProduct, near index: Int) -> StoredVariant? {
    let variants = product.variants
    if index < variants.count, variants[index].id == id { return variants[index] }
    let positions = self.positions ?? Dictionary(zip(variants.map(\.id), 0...)) { first, _ in first }
    self.positions = positions
    return positions[id].map { variants[$0] }
  }
}

extension StoredProduct {
  /// Returns the variant with an id. Feeds usually keep their order, so `index` is tried first.
  func variant(_ id: Int64, near index: Int) -> StoredVariant? {
    if index < variants.count, variants[index].id == id { return variants[index] }
    // The database returns variants ordered by id.
    var (low, high) = (0, variants.count)
    while low < high {
      let middle = (low + high) / 2
      if variants[middle].id < id { low = middle + 1 } else { high = middle }
    }
    if low < variants.count, variants[low].id == id { return variants[low] }
    return variants.first { $0.id == id }
  }
}
