import CofferCore
import CofferRouter
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite(.timeLimit(.minutes(15))) struct BackgroundSyncTests {
  /// Sleeps that return at once; the last one cancels the loop.
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

  // Requirement 2.16
  @Test("The interval is read again each round, and is at least five minutes")
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

  // Requirement 2.16
  @Test("News of a round is delivered in that round")
  func news() async throws {
    try await Workshop.use { workshop in
      _ = try await workshop.follow([product(1)])
      workshop.shop.serve([product(1, prices: ["50"])])
      try await run(workshop, Sleeps(1))
      #expect(workshop.channel.delivered.map(\.body) == ["Product 1: $50.00, was $100.00"])
    }
  }

  @Test("News held back in quiet hours is delivered at their end, not at the next round")
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
      #expect(channel.delivered.map(\.body) == ["Product 1: $50.00, was $100.00"])
    }
  }

  // Requirements 2.53, 2.54
  @Test("During a pause the loop waits for its end and makes no request")
  func resting() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      _ = try await workshop.follow([product(1)], domain: "other.example")
      workshop.shop.fail(SyncFailure.resting(until: workshop.clock.now.addingTimeInterval(120)))
      let reads = workshop.shop.reads
      let clock = workshop.clock
      let sleeps = Sleeps(3) { count in clock.turn(count < 3 ? 60 : 5.5) }
      try await run(workshop, sleeps)
      #expect(workshop.shop.reads == reads + 1, "the second store is not asked")
      let error = await BackgroundSyncState.shared.storeErrors[id]
      #expect(sleeps.seconds == [60, 60, 5.5] && error == nil)
    }
  }

  // Requirement 2.53
  @Test("A failure is recorded for its store until it is read again")
  func recorded() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      workshop.shop.fail(SyncFailure.passwordProtected)
      await workshop.service.syncAllStoresWithErrorTracking(notifications: workshop.notifications)
      #expect(await BackgroundSyncState.shared.storeErrors[id] == .invalidResponse)
      #expect(try await workshop.service.stores().first?.lastSyncFailure == .passwordProtected)
      workshop.clock.turn(61)
      workshop.shop.serve([product(1)])
      await workshop.service.syncAllStoresWithErrorTracking(notifications: workshop.notifications)
      #expect(await BackgroundSyncState.shared.storeErrors[id] == nil)
    }
  }

  @Test("A pause that is ended early ends at the next check: one store's for that store, Shopify's for all")
  func resumed() async throws {
    for domain in ["mats.example", nil] {
      try await Workshop.use { workshop in
        let id = try await workshop.follow([product(1)])
        _ = try await workshop.follow([product(1)], domain: "127.0.0.1:8080")
        let (service, clock, shop) = (workshop.service, workshop.clock, workshop.shop)
        let until = clock.now.addingTimeInterval(1_500)
        shop.fail(SyncFailure.resting(until: until, shop: domain))
        let reads = shop.reads
        let sleeps = Sleeps(2) { count in
          clock.turn(60)
          if count == 1 {
            #expect(shop.reads == reads + (domain == nil ? 1 : 2))
            shop.serve([product(1)])
            _ = try await service.resume(storeId: id)
          }
        }
        try await run(workshop, sleeps)
        #expect(sleeps.seconds.first == 60, "it checks within a minute")
        #expect(shop.reads == reads + 3, "\(domain ?? "all")")
      }
    }
  }

  // Requirements 2.29, 2.53
  @Test("While offline nothing is read and no error is recorded; soon after reconnecting everything is read")
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
        // The cable is connected after the loop has seen that it was not.
        if case .offline = status { try? system.connect("eth0") }
      }
      #expect(sleeps.seconds == [3, 1_800] && workshop.shop.reads == reads + 1)
      #expect(BackgroundSyncState.shared.storeErrors[id] == nil)
    }
  }

  // Requirement 2.29
  @Test("While offline stores on this device are still read, and the others after reconnecting")
  @MainActor func offlineAndLocal() async throws {
    let system = try FakeSystem()
    let monitor = NetworkMonitor(reader: system.reader, pause: .zero, poll: .milliseconds(20))
    monitor.start()
    defer { monitor.stop() }
    try await Workshop.use { workshop in
      let remote = try await workshop.follow([product(1)])
      let (reads, statuses) = (workshop.shop.reads, Locked<[String]>([]))
      // Added while the loop runs, as with 'watchify add' in another terminal.
      let local = try await workshop.follow([product(1)], domain: "127.0.0.1:8080")
      // The wait for the next round is ended by the network.
      let sleeps = Sleeps(2) { count in if count == 1 { try await hang() } }
      try await run(workshop, sleeps, network: monitor) { status in
        statuses.withLock { $0.append("\(status)".prefix { $0 != "(" }.description) }
        if case .offline = status { try? system.connect("eth0") }
      }
      #expect(statuses.withLock { $0 }.prefix(2) == ["syncing", "waiting"])
      #expect(statuses.withLock { $0 }.contains("offline"))
      #expect(workshop.shop.reads == reads + 2, "the one on this device, and no other")
      #expect(BackgroundSyncState.shared.storeErrors[remote] == nil)
      #expect(BackgroundSyncState.shared.storeErrors[local] == nil)
    }
  }
}
