import Foundation

/// To which steps a shop rounds its prices, read off the prices themselves.
///
/// Shops round what they have converted: to cents, to whole units, dear prices to fives and tens, or to endings such as
/// `.95`. Cheap and dear prices have steps of their own.
struct PriceRounding: Equatable, Sendable {
  /// So many prices of one length show its step.
  private static let sample = 256
  /// Steps that shops round to, in ten-thousandths: a cent to ten thousand units.
  private static let candidates: [Int64] = [
    100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 50_000_000, 100_000_000,
  ]
  /// The steps by the size of the price.
  private var steps: [Int64]

  /// - Parameters:
  ///   - prices: some of the shop's prices, of all sizes.
  ///   - isLenient: whether one or two prices of a size may show a step.
  init(of prices: [Price], isLenient: Bool) {
    var groups = [Set<Int64>](repeating: [], count: 40)
    for price in prices where price > .zero {
      let size = Self.size(price.tenThousandths)
      if groups[size].count < Self.sample { groups[size].insert(price.tenThousandths) }
    }
    let own = groups.map { Self.step(of: Array($0)) }
    steps = own
    let evident = groups.indices.filter { groups[$0].count >= 3 }.map { own[$0] }.max()
    for size in groups.indices where (1..<4).contains(groups[size].count) {
      // So few prices may end like those that are a little dearer or cheaper.
      for next in [size - 1, size + 1] where groups.indices.contains(next) && groups[next].count >= 2 {
        let endings = Set(groups[next].map { $0 % own[next] })
        guard endings.count <= 2, groups[size].allSatisfy({ endings.contains($0 % own[next]) }) else { continue }
        steps[size] = max(steps[size], own[next])
      }
      guard isLenient, groups[size].count < 3 else { continue }
      let most = min((groups[size].min() ?? 0) / 20, evident.map { $0 * 10 } ?? .max)
      let fitting = Self.candidates.last { step in step <= most && groups[size].allSatisfy { $0 % step == 0 } }
      steps[size] = max(steps[size], fitting ?? 0)
    }
  }

  /// How far rounding can have moved a price, together with that of the price that it is compared with.
  func step(at price: Price) -> Double {
    let step = steps[Self.size(price.tenThousandths)]
    // A whole step of a cheap price would hide half of its worth.
    return Double(max(min(step, price.tenThousandths / 7), min(step, 100)))
  }

  /// The number of digits, each in two halves: shops round from 50, 100, 500 on to coarser steps.
  private static func size(_ price: Int64) -> Int {
    var (size, rest) = (0, price)
    while rest >= 10 { (size, rest) = (size + 2, rest / 10) }
    return rest >= 5 ? size + 1 : size
  }

  /// The coarsest step that so many prices do not keep by chance.
  private static func step(of prices: [Int64]) -> Int64 {
    var step: Int64 = prices.allSatisfy { $0 % 100 == 0 } ? 100 : prices.allSatisfy { $0 % 10 == 0 } ? 10 : 1
    guard let least = prices.min() else { return step }
    for (index, candidate) in candidates.enumerated() where candidate > step {
      if prices.count < 4, candidate > least / 7 { continue }
      // One or two prices show whole units, tens and hundreds, but no steps between them.
      if prices.count < 3, candidate / step < 10 || candidate > max(10_000, least / 20) { continue }
      // Every other candidate is a five: a multiple of ten is one of five, too, and tells no more of it.
      if index % 2 == 1, chance(of: prices, keeping: candidate * 2, insteadOf: step) != nil { continue }
      guard let chance = chance(of: prices, keeping: candidate, insteadOf: step), chance <= 0.03 else { continue }
      step = candidate
    }
    return step
  }

  /// How likely prices in one step would keep a coarser one by chance: whole, with one ending such as `.95`, or with
  /// two endings; `nil` when they do not keep it.
  private static func chance(of prices: [Int64], keeping step: Int64, insteadOf finer: Int64) -> Double? {
    var counts: [Int64: Int] = [:]
    for price in prices { counts[price % step, default: 0] += 1 }
    let most = counts.sorted { $0.value > $1.value }
    let share = Double(finer) / Double(step)
    // One in ten may have a price of its own.
    let needed = prices.count - prices.count / 10
    if most[0].value >= needed { return pow(share, Double(prices.count - (most[0].key == 0 ? 0 : 1))) }
    guard prices.count >= 8, most[0].value + most[1].value >= needed else { return nil }
    return pow(2 * share, Double(prices.count - 2))
  }
}
