import CofferPersistence
import CofferTesting
import Synchronization
import Testing

/// A capability whose calls can be held, and which records them.
private actor HeldCapability: Capability {
  enum Call: String, Sendable { case activate, isAvailable, deactivate }

  private(set) var log: [String] = []
  private var held: Call?
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func hold(_ call: Call?) { held = call }
  var isHolding: Bool { !waiting.isEmpty }
  func release() {
    held = nil
    let waiting = waiting
    self.waiting = []
    for continuation in waiting { continuation.resume() }
  }

  private func pass(_ call: Call) async {
    guard held == call else { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  var isAvailable: Bool {
    get async {
      await pass(.isAvailable)
      return true
    }
  }
  func activate() async throws {
    await pass(.activate)
    log.append("+")
  }
  func deactivate() async {
    await pass(.deactivate)
    log.append("-")
  }
}

/// Capabilities whose calls do not return within their deadline.
@Suite(.timeLimit(.minutes(10))) struct CapabilityDeadlineTests {
  private let clock = ManualClock()
  private let capability = HeldCapability()

  private func manager() async throws -> DefaultCapabilityManager {
    let manager = DefaultCapabilityManager(deadline: .seconds(5), clock: clock)
    try await manager.register(capability, as: "a")
    try await manager.register(HeldCapability(), as: "b", dependsOn: ["a"])
    return manager
  }

  /// Waits until the capability holds a call and its timer sleeps, and passes the deadline.
  private func passDeadline() async throws {
    try await eventually("the call is held") { await capability.isHolding }
    try await eventually("its timer sleeps") { clock.sleeperCount == 1 }
    clock.advance(by: .seconds(5))
  }

  @Test func aLateActivationDoesNotEndALaterOne() async throws {
    let manager = try await manager()
    await capability.hold(.activate)
    let first = Task { await codeThrown { try await manager.start() } }
    try await passDeadline()
    #expect(await first.value == .unavailable && manager.state(of: "a")?.isFailed == true)
    let second = Task { await codeThrown { try await manager.start() } }
    for await states in manager.states() where states["a"] == .activating { break }
    await capability.release()
    #expect(await second.value == nil)
    #expect(manager.state(of: "a") == .active && manager.state(of: "b") == .active)
    await manager.stop()
    // The late activation was taken back before the next one, not after it.
    #expect(await capability.log == ["+", "-", "+", "-"])
  }

  @Test func theStateOfAvailabilityHasADeadline() async throws {
    let manager = try await manager()
    await capability.hold(.isAvailable)
    let start = Task { await codeThrown { try await manager.start() } }
    try await passDeadline()
    // The deactivation that follows waits for the call, and has a deadline too.
    try await eventually("the timer of the deactivation sleeps") { clock.sleeperCount == 1 }
    clock.advance(by: .seconds(5))
    #expect(await start.value == .unavailable)
    #expect(manager.state(of: "a")?.isFailed == true && manager.state(of: "b") == .inactive)
    await capability.release()
    try await manager.start()
    #expect(manager.state(of: "b") == .active)
    #expect(await capability.log == ["+", "-", "+"])
  }

  @Test func aDeactivationHasADeadline() async throws {
    let manager = try await manager()
    try await manager.start()
    await capability.hold(.deactivate)
    let stop = Task { await manager.stop() }
    try await passDeadline()
    await stop.value
    #expect(manager.state(of: "a")?.isFailed == true && manager.state(of: "b") == .inactive)
    await capability.release()
    try await manager.start()
    #expect(manager.state(of: "a") == .active)
    #expect(await capability.log == ["+", "-", "+"])
  }
}
