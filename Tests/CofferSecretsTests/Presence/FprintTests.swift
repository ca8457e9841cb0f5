import CofferBus
import CofferCore
import CofferSecrets
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite(
  .blocking, .serialized, .timeLimit(.minutes(5)),
  .enabled(if: MockService.isInstalled, "dbus-daemon or python3-dbusmock is not installed"))
struct FprintTests {
  private static let name = "net.reactivated.Fprint"
  private static let managerPath = "/net/reactivated/Fprint/Manager"
  private static let manager = "net.reactivated.Fprint.Manager"
  private static let path = "/net/reactivated/Fprint/Device/0"
  private static let device = "net.reactivated.Fprint.Device"

  let bus: PrivateBus

  init() throws { bus = try PrivateBus() }

  /// Starts a reader whose verifications end with the given results, one for each start; none for a finger that never
  /// comes.
  private func reader(_ results: [[(String, Bool)]], fingers: String = "['right-index-finger']") async throws
    -> MockService
  {
    let mock = try await MockService(Self.name, on: bus, [Self.name, Self.managerPath, Self.manager])
    let script = results.map { signals in
      "[" + signals.map { "('\($0.0)', \($0.1 ? "True" : "False"))" }.joined(separator: ", ") + "]"
    }
    let method = { (name: String, input: String, output: String, code: String) in
      BusValue.structure([.string(name), .string(input), .string(output), .string(code)])
    }
    try mock.control(
      "AddMethod", at: Self.managerPath,
      [
        .string(Self.manager), .string("GetDefaultDevice"), .string(""), .string("o"),
        .string("ret = dbus.ObjectPath('\(Self.path)')"),
      ])
    try mock.control(
      "AddObject", at: Self.managerPath,
      [
        .string(Self.path), .string(Self.device), .properties([]),
        .array(
          of: "(ssss)",
          [
            method("ListEnrolledFingers", "s", "as", "ret = \(fingers)"), method("Claim", "s", "", ""),
            method("Release", "", "", ""), method("VerifyStop", "", "", ""),
            method(
              "VerifyStart", "s", "",
              """
              self.script = getattr(self, 'script', [\(script.joined(separator: ", "))])
              for result in (self.script.pop(0) if self.script else []):
                  self.EmitSignal('\(Self.device)', 'VerifyStatus', 'sb', list(result))
              """),
          ]),
      ])
    return mock
  }

  private func ask(
    within timeout: Duration = .seconds(30), prompts: Locked<[FprintAuthenticator.Prompt]> = Locked([])
  ) async throws -> AuthenticationOutcome {
    let authenticator = FprintAuthenticator(address: bus.address) { prompt in prompts.withLock { $0.append(prompt) } }
    return try await authenticator.authenticate(
      for: .biometryAny, reason: "Read the secret.", deadline: .now + timeout)
  }

  /// Expects that the reader was claimed and released, and that each verification was stopped.
  private func expectReleased(_ mock: MockService, starts: Int) throws {
    #expect(try mock.calls(of: "Claim", at: Self.path) == 1)
    #expect(try mock.calls(of: "VerifyStart", at: Self.path) == starts)
    #expect(try mock.calls(of: "VerifyStop", at: Self.path) == starts)
    #expect(try mock.calls(of: "Release", at: Self.path) == 1)
  }

  // Requirement 1.47
  @Test("An enrolled finger confirms, also after touches that were not read")
  func match() async throws {
    let mock = try await reader([
      [("verify-retry-scan", false), ("verify-finger-not-centered", false), ("verify-match", true)]
    ])
    let prompts = Locked<[FprintAuthenticator.Prompt]>([])
    #expect(try await ask(prompts: prompts) == .confirmed)
    #expect(
      prompts.withLock { $0 } == [.touchSensor(reason: "Read the secret."), .touchAgain, .touchAgain, .ended])
    try expectReleased(mock, starts: 1)
  }

  // Requirement 1.47
  @Test("Another finger has three attempts")
  func noMatch() async throws {
    let wrong = [("verify-no-match", true)]
    let mock = try await reader([wrong, wrong, wrong, [("verify-match", true)]])
    #expect(try await ask() == .refused)
    try expectReleased(mock, starts: 3)
  }

  @Test("A second attempt can confirm")
  func secondAttempt() async throws {
    let mock = try await reader([[("verify-no-match", true)], [("verify-match", true)]])
    #expect(try await ask() == .confirmed)
    try expectReleased(mock, starts: 2)
  }

  // Requirement 1.47
  @Test("A finger that never comes: the reader is released at the deadline")
  func timedOut() async throws {
    let mock = try await reader([])
    await expectStorageError(.unavailable, contains: "did not answer") { _ = try await ask(within: .seconds(1)) }
    let count = { try mock.calls(of: $0, at: Self.path) }
    #expect(try count("Claim") == count("Release"))
    #expect(try count("VerifyStart") == count("VerifyStop"))
  }

  @Test("A cancelled task releases the reader")
  func cancelled() async throws {
    let mock = try await reader([])
    let prompts = Locked<[FprintAuthenticator.Prompt]>([])
    let asking = Task { try await ask(prompts: prompts) }
    try await eventually("the finger is awaited") { try mock.calls(of: "VerifyStart", at: Self.path) == 1 }
    asking.cancel()
    await #expect(throws: CancellationError.self) { _ = try await finish(asking, within: .seconds(20)) }
    #expect(prompts.withLock { $0.last } == .ended)
    try expectReleased(mock, starts: 1)
  }

  @Test(
    "A reader that is disconnected or fails is unavailable, and released",
    arguments: ["verify-disconnected", "verify-unknown-error", "verify-\u{1B}[2J"])
  func broken(_ result: String) async throws {
    let mock = try await reader([[(result, true)]])
    let error = await expectStorageError(.unavailable, contains: "reader") { _ = try await ask() }
    #expect(error?.description.contains("\u{1B}") == false)
    try expectReleased(mock, starts: 1)
  }

  @Test("Without a service, a reader or an enrolled finger it is unavailable")
  func missing() async throws {
    await expectStorageError(.unavailable, contains: "not running") { _ = try await ask() }
    let mock = try await reader([], fingers: "dbus.Array([], signature='s')")
    await expectStorageError(.unavailable, contains: "No finger is enrolled") { _ = try await ask() }
    #expect(try mock.calls(of: "Claim", at: Self.path) == 0)
    let raising = { (name: String, text: String) in
      _ = try mock.control(
        "AddMethod", at: Self.managerPath,
        [
          .string(Self.manager), .string("GetDefaultDevice"), .string(""), .string("o"),
          .string("raise dbus.exceptions.DBusException('\(text)', name='net.reactivated.Fprint.Error.\(name)')"),
        ])
    }
    try raising("NoSuchDevice", "No devices available")
    await expectStorageError(.unavailable, contains: "no fingerprint reader") { _ = try await ask() }
    try raising("PermissionDenied", "Not Authorized")
    await expectStorageError(.unavailable, contains: "may not use") { _ = try await ask() }
    try raising("AlreadyInUse", "Device was already claimed")
    await expectStorageError(.unavailable, contains: "Another program") { _ = try await ask() }
  }

  @Test("The service or the bus ends while a finger is awaited")
  func ends() async throws {
    let mock = try await reader([])
    let asking = Task { try await ask() }
    try await eventually("the finger is awaited") { try mock.calls(of: "VerifyStart", at: Self.path) == 1 }
    try await mock.kill()
    await expectStorageError(.unavailable, contains: "ended before") {
      _ = try await finish(asking, within: .seconds(20))
    }
    let next = try await reader([])
    let last = Task { try await ask() }
    try await eventually("the finger is awaited") { try next.calls(of: "VerifyStart", at: Self.path) == 1 }
    try bus.end()
    await expectStorageError(.unavailable, contains: "ended before") {
      _ = try await finish(last, within: .seconds(20))
    }
  }

  @Test("A signal of another device or program confirms nothing")
  func foreignSignals() async throws {
    let mock = try await reader([])
    let prompts = Locked<[FprintAuthenticator.Prompt]>([])
    let asking = Task { try await ask(prompts: prompts) }
    try await eventually("the finger is awaited") { try mock.calls(of: "VerifyStart", at: Self.path) == 1 }
    let signal = { (result: String, isDone: Bool) -> [BusValue] in
      let arguments = BusValue.array(of: "v", [.variant(.string(result)), .variant(.bool(isDone))])
      return [.string(Self.device), .string("VerifyStatus"), .string("sb"), arguments]
    }
    // The same signal by another program, and by the service for another object.
    let other = try await MockService("com.example.other", on: bus, ["com.example.other", Self.path, Self.device])
    try other.control("EmitSignal", at: Self.path, signal("verify-match", true))
    try mock.control("EmitSignal", at: Self.managerPath, signal("verify-match", true))
    // The bus delivers in order, so that the others have arrived once this one is noticed.
    try mock.control("EmitSignal", at: Self.path, signal("verify-retry-scan", false))
    try await eventually("the last signal arrives") { prompts.withLock { $0.last } == .touchAgain }
    asking.cancel()
    await #expect(throws: CancellationError.self) { _ = try await finish(asking, within: .seconds(20)) }
    try expectReleased(mock, starts: 1)
  }
}
