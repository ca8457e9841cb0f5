import Coffer
import CofferLocks
import CofferTestSupport
import Foundation
import Testing

@testable import WatchifyKit

@Suite(.timeLimit(.minutes(1))) struct BackgroundSyncTests {
  /// Sleeps that are over at once, until the last of them cancels the loop.
  private final class Sleeps: Sendable {
    private let state = Locked<[Double]>([])
    private let last: Int
    let onSleep: @Sendable (Int) async throws -> Void

    init(_ last: Int, onSleep: @escaping @Sendable (Int) async throws -> Void = { _ in }) {
      self.last = last
      self.onSleep = onSleep
    }

    var seconds: [Double] { state.withLock { $0 } }

    func clock(_ now: @escaping @Sendable () -> Date) -> ShopClock {
      ShopClock(now: now) { duration in
        let count = self.state.withLock { state in
          state.append(duration / .seconds(1))
          return state.count
        }
        try await self.onSleep(count)
        if count >= self.last { throw CancellationError() }
      }
    }
  }

  private func run(
    _ workshop: Workshop, _ sleeps: Sleeps, network: NetworkMonitor? = nil,
    status: @escaping @Sendable (BackgroundSync.Status) -> Void = { _ in }
  ) async throws {
    let clock = workshop.clock
    let loop = BackgroundSync(
      service: workshop.service, notifications: workshop.notifications, network: network, status: status,
      jitter: { ($0.lowerBound + $0.upperBound) / 2 }, clock: sleeps.clock { clock.now })
    try await finish(Task { await loop.run() }, within: .seconds(30))
  }

  @Test("The interval is read anew each round, and is never below five minutes")
  func interval() async throws {
    try await Workshop.use { workshop in
      _ = try await workshop.follow([product(1)])
      let settings = workshop.container.settings
      let clock = workshop.clock
      let sleeps = Sleeps(3) { count in
        try await settings.set(count == 1 ? 15 : 1, for: StorageKeys.syncIntervalMinutes)
        clock.turn(1_000)
      }
      try await run(workshop, sleeps)
      #expect(sleeps.seconds == [1_800, 900, 300])
      #expect(workshop.shop.reads == 1 + 3, "each round reads")
    }
  }

  @Test("News of a round is told in that round")
  func news() async throws {
    try await Workshop.use { workshop in
      _ = try await workshop.follow([product(1)])
      workshop.shop.serve([product(1, prices: ["50"])])
      try await run(workshop, Sleeps(1))
      #expect(workshop.channel.delivered.map(\.body) == ["1 price drop"])
    }
  }

  @Test("What waits for the end of quiet hours is told then, not at the next round")
  func quietHours() async throws {
    try await Workshop.use { workshop in
      _ = try await workshop.follow([product(1)])
      let parts = Calendar.current.dateComponents([.hour, .minute], from: workshop.clock.now)
      let minute = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
      let quiet = QuietHours(start: minute, end: (minute + 10) % 1_440)
      try await workshop.container.settings.set(quiet, for: StorageKeys.quietHours)
      workshop.shop.serve([product(1, prices: ["50"])])
      let (clock, channel) = (workshop.clock, workshop.channel)
      let sleeps = Sleeps(2) { count in
        #expect(channel.delivered.count == count - 1, "silence first")
        clock.turn(700)
      }
      try await run(workshop, sleeps)
      #expect(sleeps.seconds.first.map { $0 <= 600 } == true && workshop.shop.reads == 2)
      #expect(channel.delivered.map(\.body) == ["1 price drop"])
    }
  }

  @Test("While a refusal holds, the loop waits for its end and asks nobody")
  func resting() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      _ = try await workshop.follow([product(1)], domain: "other.example")
      workshop.shop.fail(SyncError.resting(until: workshop.clock.now.addingTimeInterval(120)))
      let reads = workshop.shop.reads
      let sleeps = Sleeps(1)
      try await run(workshop, sleeps)
      #expect(workshop.shop.reads == reads + 1, "the second store is not asked")
      let error = await BackgroundSyncState.shared.storeErrors[id]
      #expect(sleeps.seconds == [125.5] && error == nil)
    }
  }

  @Test("Without a network nothing is read and nothing is an error; soon after it is back everything is")
  @MainActor func offline() async throws {
    let system = try FakeSystem()
    let monitor = NetworkMonitor(reader: system.reader, pause: .zero, poll: .milliseconds(20))
    monitor.start()
    defer { monitor.stop() }
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      let reads = workshop.shop.reads
      let sleeps = Sleeps(2)
      try await run(workshop, sleeps, network: monitor) { status in
        // The cable is plugged in when the loop has seen that it is not.
        if case .offline = status { try? system.connect("eth0") }
      }
      #expect(sleeps.seconds == [3, 1_800] && workshop.shop.reads == reads + 1)
      #expect(BackgroundSyncState.shared.storeErrors[id] == nil)
    }
  }
}
