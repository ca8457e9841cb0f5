import Foundation

/// The steps to which a shop rounds its prices, inferred from the prices themselves.
///
/// Shops round converted prices: to cents, to whole units, high prices to fives and tens, or to endings such as `.95`.
/// Low and high prices have different steps.
struct PriceRounding: Equatable, Sendable {
  /// The number of prices of one size that is sufficient to infer its step.
  private static let sample = 256
  /// The candidate steps in ten-thousandths of a unit: a cent to ten thousand units.
  private static let candidates: [Int64] = [
    100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 50_000_000, 100_000_000,
  ]
  /// The steps, indexed by the size of the price.
  private var steps: [Int64]

  /// Infers the steps from prices.
  /// - Parameters:
  ///   - prices: a sample of the shop's prices, of all sizes.
  ///   - isLenient: whether one or two prices of a size are enough to infer a step.
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
      // A size with few prices may share the endings of the next larger or smaller size.
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

  /// Returns how far rounding can have moved a price and the price that it is compared with, in ten-thousandths.
  func step(at price: Price) -> Double {
    let step = steps[Self.size(price.tenThousandths)]
    // Capped: a whole step could be half the value of a low price.
    return Double(max(min(step, price.tenThousandths / 7), min(step, 100)))
  }

  /// The size class of a price: two per decimal digit, because shops use coarser steps from 50, 100, 500 on.
  private static func size(_ price: Int64) -> Int {
    var (size, rest) = (0, price)
    while rest >= 10 { (size, rest) = (size + 2, rest / 10) }
    return rest >= 5 ? size + 1 : size
  }

  /// Returns the coarsest step that all prices keep and that they are unlikely to keep by chance.
  private static func step(of prices: [Int64]) -> Int64 {
    var step: Int64 = prices.allSatisfy { $0 % 100 == 0 } ? 100 : prices.allSatisfy { $0 % 10 == 0 } ? 10 : 1
    guard let least = prices.min() else { return step }
    for (index, candidate) in candidates.enumerated() where candidate > step {
      if prices.count < 4, candidate > least / 7 { continue }
      // One or two prices are evidence for whole units, tens and hundreds, but not for steps between them.
      if prices.count < 3, candidate / step < 10 || candidate > max(10_000, least / 20) { continue }
      // Every other candidate is a five: prices in multiples of ten are no further evidence for it.
      if index % 2 == 1, chance(of: prices, keeping: candidate * 2, insteadOf: step) != nil { continue }
      guard let chance = chance(of: prices, keeping: candidate, insteadOf: step), chance <= 0.03 else { continue }
      step = candidate
    }
    return step
  }

  /// Returns the probability that prices in one step keep a coarser one by chance: as multiples, with one ending such
  /// as `.95`, or with two endings; `nil` if they do not keep it.
  private static func chance(of prices: [Int64], keeping step: Int64, insteadOf finer: Int64) -> Double? {
    var counts: [Int64: Int] = [:]
    for price in prices { counts[price % step, default: 0] += 1 }
    let most = counts.sorted { $0.value > $1.value }
    let share = Double(finer) / Double(step)
    // One price in ten may be an exception.
    let needed = prices.count - prices.count / 10
    if most[0].value >= needed { return pow(share, Double(prices.count - (most[0].key == 0 ? 0 : 1))) }
    guard prices.count >= 8, most[0].value + most[1].value >= needed else { return nil }
    return pow(2 * share, Double(prices.count - 2))
  }
}
