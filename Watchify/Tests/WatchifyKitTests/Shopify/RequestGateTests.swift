import CofferCore
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("The gate of all requests", .timeLimit(.minutes(15)))
struct RequestGateTests {
  private let time = JumpingClock()
  private let pauses = RequestGate.Pauses(sameShop: .seconds(1), otherShop: .seconds(2))

  private func shop(_ name: String) throws -> ShopAddress { try ShopAddress(name) }

  @Test("One request at a time, and all are admitted")
  func oneAtATime() async throws {
    let gate = RequestGate(clock: time.clock)
    let inside = Locked((now: 0, most: 0, count: 0))
    let shop = try shop("a.com")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask {
          try await gate.perform(for: shop, pauses: pauses) {
            inside.withLock {
              $0.now += 1
              $0.most = max($0.most, $0.now)
              $0.count += 1
            }
            await Task.yield()
            inside.withLock { $0.now -= 1 }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(inside.withLock { $0.most } == 1)
    #expect(inside.withLock { $0.count } == 50)
    #expect(time.slept == Array(repeating: .seconds(1), count: 49))
  }

  @Test("First in, first out; a cancelled request is skipped")
  func order() async throws {
    let gate = RequestGate(clock: time.clock)
    let shop = try shop("a.com")
    let order = Locked<[Int]>([])
    let (opening, open) = AsyncStream.makeStream(of: Void.self)
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let first = Task {
      try await gate.perform(for: shop, pauses: pauses) {
        enter.finish()
        for await _ in opening {}
      }
    }
    for await _ in entered {}
    var others: [Task<Void, any Error>] = []
    for number in 1...5 {
      // Immediate tasks join the queue before the next one is created.
      others.append(
        Task.immediate {
          try await gate.perform(for: shop, pauses: pauses) { order.withLock { $0.append(number) } }
        })
    }
    others[2].cancel()
    await #expect(throws: CancellationError.self) { try await finish(others[2], within: .seconds(20)) }
    open.finish()
    try await finish(first, within: .seconds(20))
    for index in [0, 1, 3, 4] { try await finish(others[index], within: .seconds(20)) }
    #expect(order.withLock { $0 } == [1, 2, 4, 5])
  }

  @Test("A delay between requests to one shop, a longer one between shops, none if it has passed")
  func pausing() async throws {
    let gate = RequestGate(clock: time.clock)
    let (a, b) = (try shop("a.com"), try shop("b.com"))
    try await gate.perform(for: a, pauses: pauses) { time.advance(by: .seconds(5)) }
    try await gate.perform(for: a, pauses: pauses) {}
    #expect(time.slept == [.seconds(1)])
    try await gate.perform(for: b, pauses: pauses) {}
    #expect(time.slept == [.seconds(1), .seconds(2)])
    time.advance(by: .milliseconds(1500))
    try await gate.perform(for: a, pauses: pauses) {}
    #expect(time.slept.last == .milliseconds(500))
    time.advance(by: .seconds(3))
    try await gate.perform(for: b, pauses: pauses) {}
    #expect(time.slept.count == 3)
    // The clock is set back by an hour.
    time.advance(by: .seconds(-3600))
    try await gate.perform(for: b, pauses: pauses) {}
    #expect(time.slept.last == .seconds(1))
  }

  @Test("A request cancelled during its delay is not sent and admits the next one")
  func cancelledPause() async throws {
    let (sleeping, fallAsleep) = AsyncStream.makeStream(of: Void.self)
    let now = time.now
    let gate = RequestGate(
      clock: ShopClock(
        now: { now },
        sleep: { _ in
          fallAsleep.finish()
          try await hang()
        }))
    let shop = try shop("a.com")
    try await gate.perform(for: shop, pauses: pauses) {}
    let task = Task { try await gate.perform(for: shop, pauses: pauses) { _ = Issue.record("it was cancelled") } }
    for await _ in sleeping {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await finish(task, within: .seconds(20)) }
    try await gate.perform(for: shop, pauses: .init(sameShop: .zero, otherShop: .zero)) {}
  }

  @Test("No request begins during a pause, not even a waiting one")
  func resting() async throws {
    let gate = RequestGate(clock: time.clock)
    let shop = try shop("a.com")
    let until = time.now + 100
    gate.restore([.init(until: until, since: time.now)])
    #expect(gate.restingUntil == until)
    gate.restore([.init(until: time.now + 50, since: time.now - 1)])
    #expect(gate.restingUntil == until, "an older word")
    await #expect(throws: SyncFailure.resting(until: until)) {
      try await gate.perform(for: shop, pauses: pauses) { _ = Issue.record("a request went out") }
    }
    time.advance(by: .seconds(100))
    #expect(gate.restingUntil == nil)
    var waiting: Task<Void, any Error>?
    try await gate.perform(for: shop, pauses: pauses) {
      waiting = Task.immediate {
        try await gate.perform(for: shop, pauses: pauses) { _ = Issue.record("a request went out") }
      }
      gate.restore([.init(until: time.now + 60, since: time.now)])
    }
    let task = try #require(waiting)
    await #expect(throws: SyncFailure.resting(until: time.now + 60)) { try await finish(task, within: .seconds(20)) }
  }

  @Test("Pauses double from two minutes to half an hour, honour Retry-After up to an hour, and outlive the process")
  func refusals() throws {
    let gate = RequestGate(clock: time.clock)
    let shop = try shop("a.com")
    let rests = (0..<6).map { _ in
      let rest = gate.refuse(nil, retryAfter: nil).timeIntervalSince(time.now)
      time.advance(by: .seconds(rest))
      return rest
    }
    #expect(rests == [120, 240, 480, 960, 1800, 1800])
    #expect(gate.refusals(of: nil) == 6)
    gate.served(shop)
    #expect(gate.refusals(of: nil) == 0)
    #expect(gate.refuse(nil, retryAfter: 60) == time.now + 120)
    time.advance(by: .seconds(120 + 3599))
    #expect(gate.isRefused(shop) && gate.refusals(of: nil) == 1)
    time.advance(by: .seconds(1))
    #expect(!gate.isRefused(shop))
    #expect(gate.refuse(nil, retryAfter: nil) == time.now + 120)
    #expect(gate.refusals(of: nil) == 1)
    #expect(gate.refuse(nil, retryAfter: 3000) == time.now + 3000)
    #expect(gate.refuse(nil, retryAfter: 1e12) == time.now + 3600)
    #expect(gate.refuse(nil, retryAfter: .infinity) == time.now + 3600)

    let next = RequestGate(clock: time.clock)
    next.restore([.init(until: time.now + 3600, refusals: 3, since: time.now)])
    #expect(next.restingUntil == time.now + 3600 && next.refusals(of: nil) == 3)
    next.restore([.init(until: time.now, refusals: -1, since: time.now)])
    #expect(next.restingUntil == nil && next.refusals(of: nil) == 0)
    next.restore([.init(until: time.now + 3601, since: time.now)])
    #expect(next.restingUntil == nil, "no pause is that long: the clock was set back")
  }
}
