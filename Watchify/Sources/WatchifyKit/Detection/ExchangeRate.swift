/// The exchange rate of a shop that converts its prices, estimated from all prices of a listing, and what departs from
/// it.
///
/// Rates are multiples of that of the first read, so a price is compared with the one that was told last however long
/// ago that was: moves of the rate cancel out, slow slides add up.
struct ExchangeRate: Equatable, Sendable {
  /// What a price's move is.
  enum Verdict: Equatable, Sendable {
    /// The rate, or its rounding.
    case rate
    /// News; `since` is the price that it is to be compared with.
    case news(since: Price, isUnsure: Bool)
  }

  /// From so many products on a common move is the rate up to the usual limit, below it up to two thirds of that.
  private static let fewProducts = 6
  /// No rate moves this far between two reads, and with its rounding none moves a price half as far again.
  private static let certainMove = 0.1

  /// However long ago the last read was, a common move beyond this is no rate.
  private static let longestMove = 0.09

  /// The rate of the last read, and of this one.
  let before: Double
  private(set) var now: Double
  /// Whether enough prices agree to tell the rate from a change of price.
  private(set) var isSure = true
  private let limit: Double
  /// Whether so few products are compared that a move hardly larger than the rounding stays unsure.
  private let isSmall: Bool
  /// Whether one product alone moves in a shop that may not convert at all: that is no rate, however it rounds.
  private let isStill: Bool
  private let rounding: PriceRounding

  /// - Parameters:
  ///   - percent: up to how many hundredths the rate may move between two reads.
  ///   - isBaseKnown: whether the shop is known to convert its prices.
  ///   - memory: the rate of the last read, and how long ago that was.
  ///   - stored: what is known.
  ///   - reading: what was read.
  ///   - market: the market of the read; what another market served says nothing.
  init(
    percent: UInt64, isBaseKnown: Bool, memory: DetectionMemory, from stored: [Int64: StoredProduct],
    to reading: ShopReading, market: Market
  ) {
    (before, now, limit) = (memory.rate, memory.rate, Double(min(percent, 50)) / 100)
    let poll = RatePoll(from: stored, to: reading, market: market)
    rounding = PriceRounding(of: poll.prices, isLenient: poll.products >= 3)
    isSmall = poll.products < Self.fewProducts
    isStill = !isBaseKnown && poll.changedProducts == 1 && poll.products >= 4
    guard poll.hasChanges else { return }
    // Over weeks a rate moves further than between two reads.
    let grown = limit == 0 ? 0 : max(limit, min(limit + max(0, memory.age) / 604_800 / 100, Self.longestMove))
    let window = isSmall ? grown * 2 / 3 : grown
    let estimate = RateEstimate(votes: poll.votes, rounding: rounding, around: before, window: window)
    // Where most prices moved together, a little further than a rate does, it may have been the rate.
    let isCommon = estimate.support * 2 < poll.votes.count && abs(estimate.median / before - 1) > window
    isSure = !isCommon && estimate.products >= 3 && estimate.support * 3 >= estimate.inWindow * 2
    now = isStill ? before : estimate.rate
  }

  /// What the move of a price is that was `last` at the last read.
  func verdict(on new: Price, last: Price, reference: ReferencePrice) -> Verdict {
    guard new != last else { return .rate }
    let expected = Double(reference.price.tenThousandths) * now / reference.rate
    let departure = Double(new.tenThousandths) - expected
    let step = max(rounding.step(at: new), rounding.step(at: reference.price)) * 1.000_001
    // Over a long time a rate may move by any amount; the person still pays another price than they were told.
    let drift = Double(new.tenThousandths) - Double(reference.price.tenThousandths)
    if abs(now / reference.rate - 1) > 3 * limit, abs(drift) > 3 * limit * Double(reference.price.tenThousandths) {
      return .news(since: reference.price, isUnsure: true)
    }
    guard isStill || abs(departure) > step else { return .rate }
    let sinceLast = Double(new.tenThousandths) - Double(last.tenThousandths) * now / before
    let old = (isStill || abs(sinceLast) > step) && (sinceLast < 0) == (departure < 0) ? last : reference.price
    // A cut that the rate hides costs as much as before: it is told once it shows.
    guard new != old, (new < old) == (departure < 0) else { return .rate }
    let isUnsure = !isSure || abs(departure) <= step || (isSmall && abs(departure) < 2 * step)
    return .news(since: old, isUnsure: isUnsure && abs(departure) <= Self.certainMove * (isSmall ? 1.5 : 1) * expected)
  }

  /// Whether the move of a crossed-out price is the rate.
  func explains(_ old: Price, _ new: Price) -> Bool {
    let expected = Double(old.tenThousandths) * now / before
    return abs(Double(new.tenThousandths) - expected) <= max(rounding.step(at: new), rounding.step(at: old)) * 1.000_001
  }
}
