import CofferTesting
import Foundation
import Observation
import Testing
import WatchifyTestSupport

@testable import WatchifyKit

@MainActor
@Suite(.timeLimit(.minutes(15)))
struct NetworkMonitorTests {
  /// A monitor that reads the state only on a hint, and then without a delay.
  private func monitor(of system: FakeSystem) -> NetworkMonitor {
    NetworkMonitor(reader: system.reader, pause: .zero, poll: .seconds(86_400))
  }

  /// Returns the next elements of a stream.
  private func next(_ count: Int, of stream: AsyncStream<Bool>) async throws -> [Bool] {
    let task = Task { () throws -> [Bool] in
      var seen: [Bool] = []
      var iterator = stream.makeAsyncIterator()
      while seen.count < count, let element = await iterator.next() { seen.append(element) }
      return seen
    }
    return try await finish(task, within: .seconds(20))
  }

  // Requirement 2.48
  @Test func beforeItStarts() throws {
    let system = try FakeSystem()
    let monitor = monitor(of: system)
    #expect(monitor.isConnected)
    #expect(monitor.connectionType == .unknown)
    monitor.start()
    #expect(!monitor.isConnected, "the state is read on start")
    monitor.stop()
    #expect(!monitor.isConnected, "and is kept after the stop")
    #expect(NetworkMonitor.shared === NetworkMonitor.shared)
    #expect(NetworkMonitor.ConnectionType.allCases.map(\.rawValue) == ["wifi", "cellular", "wired", "unknown"])
  }

  // Requirement 2.48
  @Test func changesBeginWithThePresentState() async throws {
    let system = try FakeSystem()
    try system.connect("wlan0", type: "wlan")
    let monitor = monitor(of: system)
    monitor.start()
    defer { monitor.stop() }
    #expect(monitor.connectionType == .wifi)
    let first = monitor.changes()
    let second = monitor.changes()
    #expect(try await next(1, of: first) == [true])
    #expect(try await next(1, of: second) == [true])
    try system.disconnect()
    monitor.currentWatch?.hint()
    #expect(try await next(1, of: first) == [false])
    #expect(!monitor.isConnected)
    #expect(monitor.connectionType == .unknown)
    try system.connect("wwan0", type: "wwan")
    monitor.currentWatch?.hint()
    #expect(try await next(1, of: first) == [true])
    #expect(monitor.isConnected)
    #expect(monitor.connectionType == .cellular)
    #expect(try await next(1, of: second) == [true], "a slow consumer receives only the latest state")
    #expect(try await next(1, of: monitor.changes()) == [true])
  }

  // Requirement 2.51
  @Test func aNewTypeIsNoChangeOfConnectivity() async throws {
    let system = try FakeSystem()
    try system.connect("eth0")
    let monitor = monitor(of: system)
    monitor.start()
    defer { monitor.stop() }
    let changes = monitor.changes()
    #expect(try await next(1, of: changes) == [true])
    #expect(monitor.connectionType == .wired)
    try system.connect("wlan0", type: "wlan")
    let (told, teller) = AsyncStream.makeStream(of: Bool.self)
    withObservationTracking {
      _ = monitor.connectionType
    } onChange: {
      teller.yield(true)
    }
    monitor.currentWatch?.hint()
    #expect(try await next(1, of: told) == [true], "observers are notified")
    // The observer is notified before the value is set, in the same turn of the main actor.
    #expect(monitor.connectionType == .wifi)
    try system.disconnect()
    monitor.currentWatch?.hint()
    #expect(try await next(1, of: changes) == [false], "with nothing in between")
  }

  @Test func theSlowPollFindsWhatNoHintTold() async throws {
    let system = try FakeSystem()
    let monitor = NetworkMonitor(reader: system.reader, pause: .seconds(86_400), poll: .milliseconds(5))
    monitor.start()
    defer { monitor.stop() }
    let changes = monitor.changes()
    #expect(try await next(1, of: changes) == [false])
    try system.connect("eth0")
    #expect(try await next(1, of: changes) == [true])
  }

  // Requirement 2.50
  @Test func stoppedAndStartedAgain() async throws {
    let system = try FakeSystem()
    try system.connect("eth0")
    let monitor = monitor(of: system)
    monitor.start()
    let first = try #require(monitor.currentWatch)
    monitor.start()
    #expect(monitor.currentWatch === first, "a second start does nothing")
    let changes = monitor.changes()
    #expect(try await next(1, of: changes) == [true])
    monitor.stop()
    monitor.stop()
    #expect(try await onThread { first.open.wait(timeout: .now() + 20) } == .success)
    try system.disconnect()
    first.hint()
    #expect(monitor.isConnected)
    monitor.start()
    #expect(!monitor.isConnected)
    #expect(try await next(1, of: changes) == [false], "streams continue across a stop")
    monitor.stop()
  }

  @Test func aMonitorThatGoesEndsItsListeners() async throws {
    var monitor: NetworkMonitor? = try self.monitor(of: FakeSystem())
    monitor?.start()
    weak let watch = monitor?.currentWatch
    let changes = try #require(monitor?.changes())
    monitor = nil
    #expect(watch == nil)
    #expect(try await next(5, of: changes) == [false])
  }

  @Test func aListenerThatGoesIsForgotten() async throws {
    let feed = ConnectivityFeed(true)
    let task = Task { for await _ in feed.listen() {} }
    let stream = feed.listen()
    #expect(feed.count >= 1)
    task.cancel()
    try await finish(task, within: .seconds(20))
    feed.send(false)
    #expect(try await next(1, of: stream) == [false])
    #expect(feed.count == 1)
  }
}
