import CofferTesting
import Foundation
import Testing
import WatchifyTestSupport

@testable import WatchifyKit

@Suite(.timeLimit(.minutes(15)), .disabled(if: NetworkNamespace.isInside, "the process inside the namespace"))
struct NetworkNamespaceTests {
  // Requirement 2.49
  @Test(.enabled(if: NetworkNamespace.unavailabilityReason == nil, "\(NetworkNamespace.unavailabilityReason ?? "")"))
  func theKernelsOwnNetwork() async throws {
    let (status, text) = try await onThread { try NetworkNamespace.test("InsideNetworkNamespace") }
    #expect(status == 0 && text.contains("cablesAndRoutes() passed"), "\(text)")
  }
}

/// The tests inside the namespace: a virtual cable between `cable0`, which is monitored, and `cable1`.
@MainActor
@Suite(
  .serialized, .timeLimit(.minutes(15)),
  .enabled(if: NetworkNamespace.isInside, "runs in a child process of NetworkNamespaceTests"))
struct InsideNetworkNamespace {
  private func ip(_ commands: String...) async throws {
    try await onThread { for command in commands { try NetworkNamespace.ip(command) } }
  }

  @Test func cablesAndRoutes() async throws {
    try await ip(
      "link add cable0 type veth peer name cable1", "addr add 192.0.2.1/24 dev cable0",
      "link set cable0 up", "link set cable1 up")
    // No poll within the test: every change is announced by the kernel.
    let monitor = NetworkMonitor(
      reader: NetworkReader(root: URL(fileURLWithPath: "/")), pause: .milliseconds(20), poll: .seconds(86_400))
    monitor.start()
    defer { monitor.stop() }
    let expectations = Expectations(monitor)
    #expect(try await expectations.next() == false, "no route yet")
    #expect(monitor.connectionType == .unknown)

    try await ip("route add default via 192.0.2.2")
    #expect(try await expectations.next() == true, "a route")
    #expect(monitor.connectionType == .wired)

    try await ip("link set cable1 down")
    #expect(try await expectations.next() == false, "the cable was pulled")
    try await ip("link set cable1 up")
    #expect(try await expectations.next() == true, "and put back")

    try await ip("route del default")
    #expect(try await expectations.next() == false, "the route was removed")
    try await ip("route add default via 192.0.2.2")
    #expect(try await expectations.next() == true, "and came back")

    try await ip("link set cable0 down")
    #expect(try await expectations.next() == false, "the interface was put down, and its route went with it")
    try await ip("link set cable0 up", "route add default via 192.0.2.2")
    #expect(try await expectations.next() == true, "and came back")

    try await ip("route del default")
    #expect(try await expectations.next() == false)
    try await ip("addr add 2001:db8::1/64 dev cable0 nodad", "-6 route add default via 2001:db8::2 dev cable0")
    #expect(try await expectations.next() == true, "IPv6 alone")
    try await ip("-6 route del default")
    #expect(try await expectations.next() == false)

    try await ip("-6 route add unreachable default metric 5", "route add default dev lo")
    try await ip("route add default via 192.0.2.2 metric 9")
    #expect(try await expectations.next() == true, "a rejecting route does not count, and does not hide another")
    try await ip("link del cable0")
    #expect(try await expectations.next() == false, "the interface is gone")
    try await ip("route del default dev lo", "-6 route del unreachable default metric 5")
  }

  @Test func nothingStaysOpen() async throws {
    let monitor = NetworkMonitor()
    func startAndStop() async throws {
      monitor.start()
      let watch = try #require(monitor.currentWatch)
      monitor.stop()
      #expect(try await onThread { watch.open.wait(timeout: .now() + 20) } == .success)
    }
    try await startAndStop()
    let before = try openSockets()
    for _ in 0..<50 { try await startAndStop() }
    #expect(try openSockets() <= before, "one of an earlier test may have closed meanwhile")
  }

  @Test func aStormOfMessages() async throws {
    let monitor = NetworkMonitor(
      reader: NetworkReader(root: URL(fileURLWithPath: "/")), pause: .milliseconds(20), poll: .seconds(86_400))
    monitor.start()
    defer { monitor.stop() }
    let expectations = Expectations(monitor)
    #expect(try await expectations.next() == false)
    try await ip("link add storm0 type veth peer name storm1", "link set storm0 up", "link set storm1 up")
    let folder = try TemporaryDirectory()
    let batch = folder.path("batch")
    let routes = (0..<4_000).map { "route add 10.\($0 / 256).\($0 % 256).0/24 dev storm0\n" }
    try (routes.joined() + "route add default dev storm0\n").write(toFile: batch, atomically: true, encoding: .utf8)
    try await ip("-batch \(batch)")
    #expect(try await expectations.next() == true)
    try await ip("link del storm0")
    #expect(try await expectations.next() == false)
  }

  /// Returns the number of netlink sockets in this namespace, except for the kernel's own.
  private func openSockets() throws -> Int {
    let list = try FileHandle(forReadingAtPath: "/proc/net/netlink")?.readToEnd() ?? Data()
    #expect(!list.isEmpty)
    return String(decoding: list, as: UTF8.self).split(separator: "\n").dropFirst()
      .count { $0.split(separator: " ").dropFirst(2).first != "0" }
  }
}

/// The changes of a monitor, one after another.
@MainActor
private final class Expectations {
  private let stream: AsyncStream<Bool>

  init(_ monitor: NetworkMonitor) { stream = monitor.changes() }

  /// Returns the next change, or `nil` if none arrives.
  func next() async throws -> Bool? {
    let stream = stream
    let task = Task { () async -> Bool? in
      var iterator = stream.makeAsyncIterator()
      return await iterator.next()
    }
    return try await finish(task, within: .seconds(10))
  }
}
