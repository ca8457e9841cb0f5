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

private actor LoggedCapability: ReportingCapability {
  struct Broken: Error {}
  private let name: String
  private let log: CallLog
  private let engine = MemoryEngine()
  private var isBroken = false
  private var hangs = false

  init(_ name: String, _ log: CallLog) { (self.name, self.log) = (name, log) }

  var isAvailable: Bool { true }
  func setBroken(_ isBroken: Bool) { self.isBroken = isBroken }
  func hang() { hangs = true }
  /// Reports that the capability is unavailable.
  func fail() async throws { try await engine.close() }

  func activate() async throws {
    if hangs { try await CofferTesting.hang() }
    if isBroken { throw Broken() }
    log.add("+\(name)")
  }
  func deactivate() async { log.add("-\(name)") }
  nonisolated func availability() -> AsyncStream<StoreAvailability> { engine.availability() }
}

@Suite(.timeLimit(.minutes(10))) struct CapabilityManagerTests {
  private let log = CallLog()
  private let clock = ManualClock()

  /// A manager of a, b (needs a), c (needs b) and the independent d, registered in another order.
  private func manager() async throws -> (DefaultCapabilityManager, [LoggedCapability]) {
    let manager = DefaultCapabilityManager(deadline: .seconds(5), clock: clock)
    let all = ["a", "b", "c", "d"].map { LoggedCapability($0, log) }
    try await manager.register(all[2], as: "c", dependsOn: ["b"])
    try await manager.register(all[3], as: "d")
    try await manager.register(all[1], as: "b", dependsOn: ["a"])
    try await manager.register(all[0], as: "a")
    return (manager, all)
  }

  // Requirements 1.22, 1.53
  @Test func startsByDependenciesAndStopsInReverse() async throws {
    let (manager, _) = try await manager()
    #expect(manager.state(of: "a") == .inactive && manager.state(of: "x") == nil)
    try await manager.start()
    #expect(log.all == ["+d", "+a", "+b", "+c"])
    #expect(manager.state(of: "c") == .active)
    await manager.stop()
    #expect(log.all == ["+d", "+a", "+b", "+c", "-c", "-b", "-a", "-d"])
    #expect(manager.state(of: "a") == .inactive)
  }

  // Requirement 1.53
  @Test func cyclesAndUnknownDependenciesAreRefused() async throws {
    let (manager, all) = try await manager()
    #expect(await codeThrown { try await manager.register(all[0], as: "a") } == .unsupported)
    try await manager.register(LoggedCapability("e", log), as: "e", dependsOn: ["f"])
    #expect(await codeThrown { try await manager.start() } == .unsupported)
    try await manager.register(LoggedCapability("f", log), as: "f", dependsOn: ["e"])
    #expect(await codeThrown { try await manager.start() } == .unsupported)
    #expect(log.all.isEmpty)
  }

  @Test func aFailedActivationStopsWhatDependsOnIt() async throws {
    let (manager, all) = try await manager()
    await all[1].setBroken(true)
    await #expect(throws: LoggedCapability.Broken.self) { try await manager.start() }
    #expect(log.all == ["+d", "+a"])
    #expect(manager.state(of: "b")?.isFailed == true && manager.state(of: "c") == .inactive)
    await all[1].setBroken(false)
    try await manager.start()
    #expect(log.all == ["+d", "+a", "+b", "+c"])
  }

  // Requirement 1.53
  @Test func anActivationEndsAtItsDeadline() async throws {
    let (manager, all) = try await manager()
    await all[0].hang()
    let starting = Task { await codeThrown { try await manager.start() } }
    for await states in manager.states() where states["a"] == .activating { break }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(5))
    #expect(await starting.value == .unavailable)
    #expect(manager.state(of: "a")?.isFailed == true && manager.state(of: "b") == .inactive)
    #expect(manager.state(of: "d") == .active)
  }

  // Requirement 1.53
  @Test func whatBecomesUnavailableStopsWhatDependsOnIt() async throws {
    let (manager, all) = try await manager()
    try await manager.start()
    try await all[1].fail()
    for await states in manager.states() where states["b"]?.isFailed == true { break }
    #expect(log.all == ["+d", "+a", "+b", "+c", "-c", "-b"])
    #expect(manager.state(of: "a") == .active && manager.state(of: "d") == .active)
    #expect(manager.state(of: "c") == .inactive)
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

  @Test func aPersistenceIsStoppedWhenItsStoreIsClosed() async throws {
    let engine = MemoryEngine()
    let manager = DefaultCapabilityManager()
    try await manager.register(AdapterBasedPersistence(engine: engine), as: "persistence")
    try await manager.start()
    try await engine.close()
    for await states in manager.states() where states["persistence"]?.isFailed == true { break }
  }
}
