import CofferCore
import CofferPersistence
import CofferTesting
import Testing

/// The calls of several capabilities, in their order.
private final class CallLog: Sendable {
  private let calls = Locked<[String]>([])
  var all: [String] { calls.withLock { $0 } }
  func add(_ call: String) { calls.withLock { $0.append(call) } }
}

private actor LoggedCapability: Capability {
  struct Broken: Error {}
  private let name: String
  private let log: CallLog
  private var isBroken = false

  init(_ name: String, _ log: CallLog) { (self.name, self.log) = (name, log) }

  private(set) var isAvailable = true
  func setBroken(_ isBroken: Bool) { self.isBroken = isBroken }
  func setAvailable(_ isAvailable: Bool) { self.isAvailable = isAvailable }

  func activate() async throws {
    if isBroken { throw Broken() }
    log.add("+\(name)")
  }
  func deactivate() async { log.add("-\(name)") }
}

@Suite(.timeLimit(.minutes(10))) struct CapabilityManagerTests {
  private let log = CallLog()

  /// A manager of a, the independent d, b (needs a) and c (needs b).
  private func manager() async throws -> (DefaultCapabilityManager, [LoggedCapability]) {
    let manager = DefaultCapabilityManager()
    let all = ["a", "b", "c", "d"].map { LoggedCapability($0, log) }
    try await manager.register(all[0], as: "a")
    try await manager.register(all[3], as: "d")
    try await manager.register(all[1], as: "b", dependsOn: ["a"])
    try await manager.register(all[2], as: "c", dependsOn: ["b"])
    return (manager, all)
  }

  // Requirements 1.22, 1.53
  @Test func startsInOrderAndStopsInReverse() async throws {
    let (manager, _) = try await manager()
    #expect(manager.state(of: "a") == .inactive && manager.state(of: "x") == nil)
    try await manager.start()
    #expect(log.all == ["+a", "+d", "+b", "+c"])
    #expect(manager.state(of: "c") == .active)
    await manager.stop()
    #expect(log.all == ["+a", "+d", "+b", "+c", "-c", "-b", "-d", "-a"])
    #expect(manager.state(of: "a") == .inactive)
  }

  // Requirement 1.53
  @Test func takenNamesAndUnknownDependenciesAreRefused() async throws {
    let (manager, all) = try await manager()
    #expect(await codeThrown { try await manager.register(all[0], as: "a") } == .unsupported)
    #expect(await codeThrown { try await manager.register(all[0], as: "e", dependsOn: ["f"]) } == .unsupported)
    #expect(manager.state(of: "e") == nil && log.all.isEmpty)
  }

  @Test func aFailedActivationStopsWhatDependsOnIt() async throws {
    let (manager, all) = try await manager()
    await all[1].setBroken(true)
    await #expect(throws: LoggedCapability.Broken.self) { try await manager.start() }
    #expect(log.all == ["+a", "+d"])
    #expect(manager.state(of: "b")?.isFailed == true && manager.state(of: "c") == .inactive)
    await all[1].setBroken(false)
    try await manager.start()
    #expect(log.all == ["+a", "+d", "+b", "+c"])
  }

  // Requirement 1.53
  @Test func whatIsNotAvailableStopsWhatDependsOnIt() async throws {
    let (manager, all) = try await manager()
    await all[1].setAvailable(false)
    #expect(await codeThrown { try await manager.start() } == .unavailable)
    #expect(log.all == ["+a", "+d", "+b", "-b"])
    #expect(manager.state(of: "b")?.isFailed == true && manager.state(of: "c") == .inactive)
  }

  // Requirement 1.53
  @Test func everySubscriberReceivesTheStates() async throws {
    let (manager, _) = try await manager()
    let streams = (0..<3).map { _ in manager.states() }
    try await manager.start()
    for stream in streams {
      for await states in stream where states["c"] == .active { break }
    }
  }
}
