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
struct PolkitTests {
  private static let path = "/org/freedesktop/PolicyKit1/Authority"
  private static let interface = "org.freedesktop.PolicyKit1.Authority"
  private static let action = "com.example.shop.read-secret"
  private static let name = "org.freedesktop.PolicyKit1"
  private static let haveCalls = BusMethod("org.freedesktop.DBus.Mock", "HaveHangingCalls", reply: "(b)")

  let bus: PrivateBus

  init() throws { bus = try PrivateBus() }

  private func mock() async throws -> MockService {
    let mock = try await MockService(Self.name, on: bus, ["--template", "polkitd"])
    try mock.control(
      "AddMethod", at: Self.path,
      [.string(Self.interface), .string("CancelCheckAuthorization"), .string("s"), .string(""), .string("")])
    return mock
  }

  private func ask(within timeout: Duration = .seconds(30)) async throws -> AuthenticationOutcome {
    try await PolkitAuthenticator(action: Self.action, address: bus.address).authenticate(
      for: .userPresence, reason: "Read the secret.", deadline: .now + timeout)
  }

  // Requirement 4.26
  @Test("Polkit's answer is the outcome: refused, and confirmed once the action is allowed")
  func allowed() async throws {
    let mock = try await mock()
    #expect(try await ask() == .refused)
    try mock.control("SetAllowed", at: Self.path, [.strings(["com.example.other"])])
    #expect(try await ask() == .refused)
    try mock.control("SetAllowed", at: Self.path, [.strings([Self.action])])
    #expect(try await ask() == .confirmed)
  }

  @Test("A check that is not answered by the deadline is withdrawn and unavailable")
  func timedOut() async throws {
    let mock = try await mock()
    try mock.control("SimulateHang", at: Self.path, [.bool(true)])
    await expectStorageError(.unavailable, contains: "did not answer") { _ = try await ask(within: .seconds(1)) }
    let hasAsked = try mock.connection.call(Self.haveCalls, of: Self.name, at: Self.path)[0]?.bool == true
    #expect(try mock.calls(of: "CancelCheckAuthorization", at: Self.path) == (hasAsked ? 1 : 0))
    await expectStorageError(.unavailable, contains: "did not answer") { _ = try await ask(within: .zero) }
  }

  @Test("A cancelled task ends at once and withdraws the check")
  func cancelled() async throws {
    let mock = try await mock()
    try mock.control("SimulateHang", at: Self.path, [.bool(true)])
    let asking = Task { try await ask() }
    try await eventually("the check hangs") {
      try mock.connection.call(Self.haveCalls, of: Self.name, at: Self.path)[0]?.bool == true
    }
    asking.cancel()
    await #expect(throws: CancellationError.self) { _ = try await finish(asking, within: .seconds(20)) }
    #expect(try mock.calls(of: "CancelCheckAuthorization", at: Self.path) == 1)
  }

  @Test("The service ends before the user answers, the bus ends, or neither is there")
  func missing() async throws {
    await expectStorageError(.unavailable, contains: "not running") { _ = try await ask() }
    let mock = try await mock()
    try mock.control("SimulateHang", at: Self.path, [.bool(true)])
    let asking = Task { try await ask() }
    try await eventually("the check hangs") {
      try mock.connection.call(Self.haveCalls, of: Self.name, at: Self.path)[0]?.bool == true
    }
    try await mock.kill()
    await expectStorageError(.unavailable, contains: "ended before") {
      _ = try await finish(asking, within: .seconds(20))
    }
    let next = try await self.mock()
    try next.control("SimulateHang", at: Self.path, [.bool(true)])
    let last = Task { try await ask() }
    try await eventually("the check hangs") {
      try next.connection.call(Self.haveCalls, of: Self.name, at: Self.path)[0]?.bool == true
    }
    try bus.end()
    await expectStorageError(.unavailable, contains: "ended before") {
      _ = try await finish(last, within: .seconds(20))
    }
    await expectStorageError(.unavailable, contains: "cannot be reached") { _ = try await ask() }
  }

  /// Answers each check with a reply, and records the arguments.
  private func service(
    _ calls: Locked<[[BusValue]]> = Locked([]), _ answer: @escaping @Sendable (BusCall) throws -> Void
  ) throws -> BusService {
    try BusService(Self.name, address: bus.address, timeout: .seconds(20)) { call in
      calls.withLock { $0.append(call.arguments) }
      try? answer(call)
    }
  }

  @Test("The user who dismisses the question has cancelled it; a missing agent or action is unavailable")
  func replies() async throws {
    let result = { @Sendable (isAuthorized: Bool, isChallenge: Bool, details: [(String, String)]) -> [BusValue] in
      let details = details.map { BusValue.entry(.string($0.0), .string($0.1)) }
      return [.structure([.bool(isAuthorized), .bool(isChallenge), .array(of: "{ss}", details)])]
    }
    let answer = Locked<@Sendable (BusCall) throws -> Void>({ _ in })
    let service = try service { call in try answer.withLock { $0 }(call) }
    answer.withLock { $0 = { try $0.reply(result(false, false, [("polkit.dismissed", "true")])) } }
    #expect(try await ask() == .cancelled)
    answer.withLock { $0 = { try $0.fail("org.freedesktop.PolicyKit1.Error.Cancelled", "cancelled") } }
    #expect(try await ask() == .cancelled)
    answer.withLock { $0 = { try $0.reply(result(false, true, [])) } }
    await expectStorageError(.unavailable, contains: "no agent") { _ = try await ask() }
    answer.withLock {
      $0 = { try $0.fail("org.freedesktop.PolicyKit1.Error.Failed", "Action x is not registered\u{1B}[2J") }
    }
    let error = await expectStorageError(.unavailable, contains: "policy file") { _ = try await ask() }
    #expect(error?.description.contains("\u{1B}") == false)
    answer.withLock { $0 = { try $0.reply([.string("yes")]) } }
    await expectStorageError(.unavailable) { _ = try await ask() }
    answer.withLock { $0 = { try $0.fail("org.freedesktop.DBus.Error.AccessDenied", "no") } }
    await expectStorageError(.unavailable) { _ = try await ask() }
    service.close()
  }

  @Test("The subject is this process's connection, and details stay empty, which polkit requires")
  func arguments() async throws {
    let calls = Locked<[[BusValue]]>([])
    let service = try service(calls) { call in
      try call.reply([.structure([.bool(true), .bool(false), .array(of: "{ss}", [])])])
    }
    #expect(try await ask() == .confirmed)
    let arguments = try #require(calls.withLock { $0 }.first)
    #expect(arguments.count == 5)
    #expect(arguments[0][0]?.text == "system-bus-name")
    #expect(arguments[0][1]?.property("name")?.text?.hasPrefix(":") == true)
    #expect(arguments[1].text == Self.action)
    #expect(arguments[2].children.isEmpty)
    #expect(arguments[3].uint32 == 1)
    #expect(arguments[4].text?.isEmpty == false)
    service.close()
  }

  @Test("A process of root, which polkit authorizes without a question, supports nothing")
  func root() {
    #expect(PolkitAuthenticator(address: nil, isRoot: true).supported.isEmpty)
    #expect(PolkitAuthenticator(address: nil).supported == [.userPresence])
    #expect(
      PolkitAuthenticator(confirms: .devicePasscode, address: nil).supported
        == KeychainAccessControl.devicePasscode.satisfied)
    #expect(PolkitAuthenticator().supported.isEmpty == (geteuid() == 0))
  }
}

@Suite struct PolicyFileTests {
  @Test("The example of a policy file declares the default action, which asks for the user of the session")
  func example() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let name = PolkitAuthenticator.defaultAction + ".policy"
    let text = try String(contentsOf: root.appendingPathComponent("docs/polkit/" + name), encoding: .utf8)
    #expect(text.contains("<action id=\"\(PolkitAuthenticator.defaultAction)\">"))
    for caller in ["any", "inactive", "active"] {
      #expect(text.contains("<allow_\(caller)>auth_self</allow_\(caller)>"))
    }
  }
}
