/// What the prices of a listing say about the exchange rate: one vote for each price of each product.
struct RatePoll {
  /// A price that is known, and what it is now.
  struct Vote {
    /// The ordinal of its product.
    var product: Int
    var last: Price
    var reference: ReferencePrice
    var new: Price
  }

  /// What two votes of one product must not share.
  private struct Ballot: Hashable {
    let new, last, reference: Price
  }

  private(set) var votes: [Vote] = []
  /// How many products have votes.
  private(set) var products = 0
  /// Whether any price is another than at the last read.
  private(set) var hasChanges = false
  /// How many products have another price than at the last read.
  private(set) var changedProducts = 0
  /// Prices from which the rounding shows.
  private(set) var prices: [Price] = []

  init(from stored: [Int64: StoredProduct], to reading: ShopReading, market: Market) {
    hasChanges = Self.hasChanges(stored, reading)
    guard hasChanges else { return }
    for product in reading.products {
      guard let old = stored[product.id] else { continue }
      let first = votes.count
      var (cast, places): (Set<Ballot>, VariantPlaces) = ([], VariantPlaces())
      for (index, variant) in product.variants.enumerated() {
        guard let known = places.variant(variant.id, of: old, near: index),
          known.market.isComparable(to: market)
        else { continue }
        vote(Vote(product: products, last: known.price, reference: known.reference, new: variant.price), &cast)
        // A crossed-out price is converted, too, and a sale does not touch it.
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

  /// Mostly there are none, and then nothing else is asked.
  private static func hasChanges(_ stored: [Int64: StoredProduct], _ reading: ShopReading) -> Bool {
    reading.products.contains { product in
      guard let old = stored[product.id] else { return false }
      var places = VariantPlaces()
      return product.variants.enumerated().contains { index, variant in
        guard let known = places.variant(variant.id, of: old, near: index) else { return false }
        return known.price != variant.price || known.compareAtPrice != variant.compareAtPrice
      }
    }
  }

  /// Variants of one product mostly have one price: they count once.
  private mutating func vote(_ vote: Vote, _ cast: inout Set<Ballot>) {
    guard vote.last > .zero, vote.new > .zero, vote.reference.price > .zero else { return }
    guard cast.insert(Ballot(new: vote.new, last: vote.last, reference: vote.reference.price)).inserted else { return }
    votes.append(vote)
    prices.append(vote.new)
    if vote.last != vote.new { prices.append(vote.last) }
    if vote.reference.price != vote.new { prices.append(vote.reference.price) }
  }
}

/// The rate that most votes agree on.
struct RateEstimate {
  private(set) var rate: Double
  /// How many votes the rate explains, and of how many products.
  private(set) var support = 0
  private(set) var products = 0
  /// The product that was counted last.
  private var last = -1
  /// How many votes are within the window.
  private(set) var inWindow = 0
  /// The rate in the middle of all votes.
  let median: Double

  private struct Range {
    var low: Double
    var high: Double
  }

  /// - Parameters:
  ///   - votes: what is known of single prices.
  ///   - rounding: how far rounding moves them.
  ///   - before: the rate of the last read.
  ///   - window: how far the rate may have moved since.
  init(votes: [RatePoll.Vote], rounding: PriceRounding, around before: Double, window: Double) {
    rate = before
    let ranges = votes.map { vote in
      let known = vote.reference.rate.isNaN ? before : vote.reference.rate
      let scale = known / Double(vote.reference.price.tenThousandths)
      // A whole step is the least that rounding cannot have made: two prices a step apart in opposite ways disagree.
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
    // Where rounding leaves a choice, the sums of the prices say more than any one of them.
    var (sum, expected) = (0.0, 0.0)
    for (vote, range) in zip(votes, ranges) where range.low <= middle && range.high >= middle {
      let known = vote.reference.rate.isNaN ? before : vote.reference.rate
      sum += Double(vote.new.tenThousandths)
      expected += Double(vote.reference.price.tenThousandths) / known
      support(vote)
    }
    rate = min(max(expected > 0 ? sum / expected : before, best.low), best.high)
  }

  /// Votes come product by product.
  private mutating func support(_ vote: RatePoll.Vote) {
    support += 1
    if vote.product != last { (products, last) = (products + 1, vote.product) }
  }

  /// Whether too many prices stay exactly what they are for the rate to be another one: no converted price does, and
  /// few shops fix a quarter of their prices for a market.
  private static func isHeld(_ votes: [RatePoll.Vote], _ ranges: [Range], against rate: Double) -> Bool {
    var (products, last, held) = (0, -1, 0)
    for (vote, range) in zip(votes, ranges) where vote.last == vote.new && (range.low > rate || range.high < rate) {
      held += 1
      if vote.product != last { (products, last) = (products + 1, vote.product) }
    }
    return products >= 2 && held * 4 >= votes.count
  }

  /// The part of the window that most ranges share, and of several such parts the nearest to `before`.
  private static func best(
    _ ranges: [Range], _ least: Double, _ most: Double, _ before: Double, _ inWindow: inout Int
  ) -> Range? {
    var ends: [(at: Double, isEnd: Bool)] = []
    for range in ranges where range.low <= most && range.high >= least {
      ends.append((max(range.low, least), false))
      ends.append((min(range.high, most), true))
      inWindow += 1
    }
    // Ranges that touch share a point: beginnings come first.
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

/// Where the variants of one product are, for a product that has thousands of them in another order.
private struct VariantPlaces {
  private var places: [Int64: Int]?

  mutating func variant(_ id: Int64, of product: StoredProduct, near index: Int) -> StoredVariant? {
    let variants = product.variants
    if index < variants.count, variants[index].id == id { return variants[index] }
    let places = self.places ?? Dictionary(zip(variants.map(\.id), 0...)) { first, _ in first }
    self.places = places
    return places[id].map { variants[$0] }
  }
}

extension StoredProduct {
  /// A variant by its id; feeds mostly keep their order, so it is looked for at its place first.
  func variant(_ id: Int64, near index: Int) -> StoredVariant? {
    if index < variants.count, variants[index].id == id { return variants[index] }
    // The database gives them in the order of their ids.
    var (low, high) = (0, variants.count)
    while low < high {
      let middle = (low + high) / 2
      if variants[middle].id < id { low = middle + 1 } else { high = middle }
    }
    if low < variants.count, variants[low].id == id { return variants[low] }
    return variants.first { $0.id == id }
  }
}
