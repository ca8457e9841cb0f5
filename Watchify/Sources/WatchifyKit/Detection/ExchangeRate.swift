/// The exchange rate of a shop that converts its prices, estimated from all prices of a listing, and the prices that
/// depart from it.
///
/// Rates are multiples of the rate at the first read, so a price can be compared with the one reported last, however
/// long ago: moves of the rate cancel out, slow slides add up.
struct ExchangeRate: Equatable, Sendable {
  /// The explanation of a price move.
  enum Verdict: Equatable, Sendable {
    /// The move is explained by the exchange rate or by rounding.
    case rate
    /// The price itself changed; `since` is the price to compare it with.
    case news(since: Price, isUnsure: Bool)
  }

  /// The number of products below which only a common move of up to two thirds of the limit is attributed to the rate.
  private static let fewProducts = 6
  /// A move that no rate makes between two reads, as a fraction; with rounding, the limit is half as much again.
  private static let certainMove = 0.1

  /// The largest common move attributed to the rate however long ago the last read was, as a fraction.
  private static let longestMove = 0.09

  /// The rate at the last read.
  let before: Double
  /// The rate at this read.
  private(set) var now: Double
  /// Whether enough prices agree to distinguish a move of the rate from a change of price.
  private(set) var isSure = true
  private let limit: Double
  /// Whether too few products are compared to be sure of a move barely larger than the rounding.
  private let isSmall: Bool
  /// Whether a single product moved in a shop that may not convert at all: the rate did not move.
  private let isStill: Bool
  private let rounding: PriceRounding

  /// Estimates the rate from a comparison.
  /// - Parameters:
  ///   - percent: the largest move of the rate between two reads, in percent.
  ///   - isBaseKnown: whether the shop is known to convert its prices.
  ///   - memory: the rate at the last read, and the time since then.
  ///   - stored: the stored products by id.
  ///   - reading: the new read.
  ///   - market: the market of the read; values of other markets are ignored.
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
    // The longer ago the last read, the further the rate may have moved.
    let grown = limit == 0 ? 0 : max(limit, min(limit + max(0, memory.age) / 604_800 / 100, Self.longestMove))
    let window = isSmall ? grown * 2 / 3 : grown
    let estimate = RateEstimate(votes: poll.votes, rounding: rounding, around: before, window: window)
    // Most prices moved together, slightly beyond the limit: that may still have been the rate.
    let isCommon = estimate.support * 2 < poll.votes.count && abs(estimate.median / before - 1) > window
    isSure = !isCommon && estimate.products >= 3 && estimate.support * 3 >= estimate.inWindow * 2
    now = isStill ? before : estimate.rate
  }

  /// Returns the explanation of a price that was `last` at the last read.
  func verdict(on new: Price, last: Price, reference: ReferencePrice) -> Verdict {
    guard new != last else { return .rate }
    let expected = Double(reference.price.tenThousandths) * now / reference.rate
    let departure = Double(new.tenThousandths) - expected
    let step = max(rounding.step(at: new), rounding.step(at: reference.price)) * 1.000_001
    // Over a long time a rate may move by any amount, but the price to pay still differs from the reported one.
    let drift = Double(new.tenThousandths) - Double(reference.price.tenThousandths)
    if abs(now / reference.rate - 1) > 3 * limit, abs(drift) > 3 * limit * Double(reference.price.tenThousandths) {
      return .news(since: reference.price, isUnsure: true)
    }
    guard isStill || abs(departure) > step else { return .rate }
    let sinceLast = Double(new.tenThousandths) - Double(last.tenThousandths) * now / before
    let old = (isStill || abs(sinceLast) > step) && (sinceLast < 0) == (departure < 0) ? last : reference.price
    // A price cut that the rate cancels out leaves the price unchanged: it is reported once it shows.
    guard new != old, (new < old) == (departure < 0) else { return .rate }
    let isUnsure = !isSure || abs(departure) <= step || (isSmall && abs(departure) < 2 * step)
    return .news(since: old, isUnsure: isUnsure && abs(departure) <= Self.certainMove * (isSmall ? 1.5 : 1) * expected)
  }

  /// Whether the rate explains the move of a crossed-out price.
  func explains(_ old: Price, _ new: Price) -> Bool {
    let expected = Double(old.tenThousandths) * now / before
    return abs(Double(new.tenThousandths) - expected) <= max(rounding.step(at: new), rounding.step(at: old)) * 1.000_001
  }
}
