import Foundation
import Testing

@testable import WatchifyKit

@Suite struct RatePollTests {
  /// Returns the CPU time, in seconds, of a poll of one product with reordered variants of different prices.
  private func time(sizes: Int) -> Double {
    let market = Market(country: "US", currency: "USD")
    let old = product(1, prices: (1...sizes).map { "\($0).00" })
    var new = product(1, prices: (1...sizes).map { "\($0).50" })
    new.variants.reverse()
    let stored: [Int64: StoredProduct] = [1: StoredProduct(old, market)]
    let reading = ShopReading(products: [new], isComplete: true)
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    return (0..<3).map { _ in
      let start = now()
      let poll = RatePoll(from: stored, to: reading, market: market)
      #expect(poll.votes.count == sizes && poll.products == 1)
      return now() - start
    }.min() ?? 0
  }

  @Test("Eight times as many sizes of one product take about eight times as long, not sixty-four times")
  func sizes() {
    let (few, many) = (time(sizes: 500), time(sizes: 4_000))
    #expect(many < few * 24, "\(few) s, \(many) s")
  }
}
