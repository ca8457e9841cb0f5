import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct AuthenticationContextTests {
  @Test("Each answer has its code, and an error of the authenticator is no confirmation")
  func answers() async throws {
    let authenticator = ScriptedAuthenticator()
    let context = AuthenticationContext(authenticator)
    try await context.authenticate(for: .userPresence, reason: "Why.")
    authenticator.answer = .refused
    await expectStorageError(.authenticationFailed) {
      try await context.authenticate(for: .userPresence, reason: "Why.")
    }
    authenticator.answer = .cancelled
    await expectStorageError(.authenticationCancelled) {
      try await context.authenticate(for: .userPresence, reason: "Why.")
    }
    #expect(authenticator.questions == Array(repeating: .init(control: .userPresence, reason: "Why."), count: 3))
    struct Odd: Error, CustomStringConvertible { let description = "s3cret\u{1B}[2J" }
    let failing = AuthenticationContext(ClosureAuthenticator { throw Odd() })
    await expectStorageError(.unavailable, contains: "Odd") {
      try await failing.authenticate(for: .userPresence, reason: "Why.")
    }
    // The text of a foreign error can contain anything.
    let told = await #expect(throws: StorageError.self) {
      try await failing.authenticate(for: .userPresence, reason: "Why.")
    }
    #expect(told.map { !"\($0)".contains("s3cret") } == true)
    let confused = AuthenticationContext(ClosureAuthenticator { throw CancellationError() })
    await expectStorageError(.unavailable) { try await confused.authenticate(for: .userPresence, reason: "Why.") }
  }

  @Test("What the authenticator cannot establish is refused without a question")
  func unsupported() async throws {
    let authenticator = ScriptedAuthenticator(KeychainAccessControl.biometryAny.satisfied)
    let context = AuthenticationContext(authenticator)
    for control in KeychainAccessControl.allCases where !context.supports(control) {
      await expectStorageError(.unsupported, contains: "\(control)") {
        try await context.authenticate(for: control, reason: "Why.")
      }
    }
    #expect(authenticator.questions.isEmpty)
    #expect(
      KeychainAccessControl.allCases.filter(context.supports) == [
        .userPresence, .biometryAny, .biometryAnyOrDevicePasscode,
      ])
  }

  @Test(
    "Reads at the same time share one question and its answer", arguments: [AuthenticationOutcome.confirmed, .refused])
  func shared(_ answer: AuthenticationOutcome) async throws {
    let authenticator = ScriptedAuthenticator(waits: true)
    authenticator.answer = answer
    let context = AuthenticationContext(authenticator)
    let first = Task { try await context.authenticate(for: .userPresence, reason: "0") }
    try await authenticator.asked(1)
    let others = (1..<20).map { number in
      Task { try await context.authenticate(for: .userPresence, reason: "\(number)") }
    }
    // One of the readers leaves without disturbing the others.
    others[7].cancel()
    await #expect(throws: CancellationError.self) { try await finish(others[7], within: .seconds(20)) }
    authenticator.release()
    for task in [first] + others where task != others[7] {
      let result = try await finish(Task { await task.result }, within: .seconds(20))
      if answer == .confirmed {
        try result.get()
      } else {
        #expect(throws: StorageError.self) { try result.get() }
      }
    }
    // A task that had not begun before the answer asks again.
    #expect(authenticator.questions.first?.reason == "0")
  }

  @Test("A question is withdrawn with its last reader, and the next one begins when it has ended")
  func withdrawn() async throws {
    let authenticator = ScriptedAuthenticator(waits: true)
    let context = AuthenticationContext(authenticator, gracePeriod: .seconds(60))
    let readers = (0..<3).map { _ in Task { try await context.authenticate(for: .biometryAny, reason: "first") } }
    try await authenticator.asked(1)
    for reader in readers { reader.cancel() }
    for reader in readers {
      await #expect(throws: CancellationError.self) { try await finish(reader, within: .seconds(20)) }
    }
    let other = Task { try await context.authenticate(for: .userPresence, reason: "second") }
    let again = Task { try await context.authenticate(for: .biometryAny, reason: "third") }
    try await authenticator.asked(2)
    #expect(authenticator.cancelled == 1)
    authenticator.release()
    try await authenticator.asked(3)
    authenticator.release()
    try await finish(other, within: .seconds(20))
    try await finish(again, within: .seconds(20))
    #expect(authenticator.mostRunning == 1, "a device serves one question at a time")
    #expect(authenticator.questions.count == 3)
  }

  @Test("A cancelled task is not asked")
  func cancelledBefore() async throws {
    let authenticator = ScriptedAuthenticator()
    let context = AuthenticationContext(authenticator)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await context.authenticate(for: .userPresence, reason: "Why.")
    }
    await #expect(throws: CancellationError.self) { try await finish(task, within: .seconds(20)) }
    #expect(authenticator.questions.isEmpty)
  }

  @Test("An authenticator that never answers and ignores its cancellation costs the timeout")
  func hangs() async throws {
    let (stream, end) = AsyncStream.makeStream(of: Void.self)
    let context = AuthenticationContext(
      ClosureAuthenticator {
        await withCheckedContinuation { continuation in
          Task {
            for await _ in stream {}
            continuation.resume()
          }
        }
        return .confirmed
      }, timeout: .milliseconds(50))
    let first = Task { try await context.authenticate(for: .userPresence, reason: "Why.") }
    await expectStorageError(.unavailable, contains: "within") { try await finish(first, within: .seconds(20)) }
    let second = Task { try await context.authenticate(for: .userPresence, reason: "Why.") }
    await expectStorageError(.unavailable, contains: "within") { try await finish(second, within: .seconds(20)) }
    end.finish()  // the late confirmation of the first question counts for nobody
  }

  @Test("The time of a question begins when it is asked, not while it waits for others")
  func queued() async throws {
    let authenticator = DeadlineAuthenticator()
    let context = AuthenticationContext(authenticator, timeout: .seconds(60))
    let first = Task { try await context.authenticate(for: .userPresence, reason: "Why.") }
    try await eventually("the first question") { authenticator.deadlines.count == 1 }
    let second = Task { try await context.authenticate(for: .biometryAny, reason: "Why.") }
    try await Task.sleep(for: .milliseconds(20))  // time passes: a clock that began with the call would be behind
    let released = ContinuousClock.now
    authenticator.release()
    try await finish(first, within: .seconds(20))
    try await finish(second, within: .seconds(20))
    #expect(try #require(authenticator.deadlines.last) >= released + .seconds(60))
  }

  @Test("Within the grace period of an access control it is not asked for again, others are")
  func grace() async throws {
    let authenticator = ScriptedAuthenticator()
    let now = Locked(ContinuousClock.now)
    let context = AuthenticationContext(
      authenticator, gracePeriod: .seconds(30), timeout: .seconds(60), now: { now.withLock { $0 } })
    let ask = { (control: KeychainAccessControl) in
      try await context.authenticate(for: control, reason: "Why.")
      return authenticator.questions.count
    }
    #expect(try await ask(.userPresence) == 1)
    now.withLock { $0 += .milliseconds(29_999) }
    #expect(try await ask(.userPresence) == 1)
    #expect(try await ask(.biometryAny) == 2)
    now.withLock { $0 += .milliseconds(1) }
    #expect(try await ask(.userPresence) == 3)
    context.endGracePeriods()
    #expect(try await ask(.userPresence) == 4)
    #expect(try await ask(.biometryAny) == 5)
    // A refusal grants nothing, and leaves nothing of an earlier grant.
    now.withLock { $0 += .seconds(60) }
    authenticator.answer = .refused
    await expectStorageError(.authenticationFailed) { _ = try await ask(.userPresence) }
    authenticator.answer = .confirmed
    #expect(try await ask(.userPresence) == 7)
  }

  @Test("Without a grace period each read asks")
  func noGrace() async throws {
    let authenticator = ScriptedAuthenticator()
    let context = AuthenticationContext(authenticator)
    for _ in 0..<3 { try await context.authenticate(for: .userPresence, reason: "Why.") }
    #expect(authenticator.questions.count == 3)
  }

  // Requirement 4.26
  @Test("A combination asks one after the other until one confirms or the user dismisses a question")
  func combined() async throws {
    let finger = ScriptedAuthenticator(KeychainAccessControl.biometryAny.satisfied)
    let password = ScriptedAuthenticator(KeychainAccessControl.devicePasscode.satisfied)
    let both = CombinedAuthenticator([finger, password])
    #expect(both.supported == Set(KeychainAccessControl.allCases).subtracting([.biometryCurrentSet]))
    let ask = { (control: KeychainAccessControl) in
      try await both.authenticate(for: control, reason: "Why.", deadline: .now + .seconds(60))
    }
    #expect(try await ask(.devicePasscode) == .confirmed)
    #expect(finger.questions.isEmpty && password.questions.count == 1)
    #expect(try await ask(.biometryAnyOrDevicePasscode) == .confirmed)
    #expect(finger.questions.count == 1 && password.questions.count == 1)
    finger.answer = .refused
    #expect(try await ask(.biometryAnyOrDevicePasscode) == .confirmed)
    #expect(finger.questions.count == 2 && password.questions.count == 2)
    #expect(try await ask(.biometryAny) == .refused)
    finger.answer = .cancelled
    #expect(try await ask(.userPresence) == .cancelled)
    #expect(password.questions.count == 2)
    struct NoDevice: Error {}
    let broken = CombinedAuthenticator([ClosureAuthenticator { throw NoDevice() }, password])
    #expect(try await broken.authenticate(for: .userPresence, reason: "", deadline: .now) == .confirmed)
    password.answer = .refused
    #expect(try await broken.authenticate(for: .userPresence, reason: "", deadline: .now) == .refused)
    let alone = CombinedAuthenticator([ClosureAuthenticator { throw NoDevice() }])
    await #expect(throws: NoDevice.self) {
      try await alone.authenticate(for: .userPresence, reason: "", deadline: .now)
    }
  }
}

/// An authenticator of a closure.
struct ClosureAuthenticator: Authenticator {
  let supported = Set(KeychainAccessControl.allCases)
  let body: @Sendable () async throws -> AuthenticationOutcome

  init(_ body: @escaping @Sendable () async throws -> AuthenticationOutcome) { self.body = body }

  func authenticate(
    for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
  ) async throws -> AuthenticationOutcome { try await body() }
}

/// Confirms once it is released, and records the deadlines of its questions.
private final class DeadlineAuthenticator: Authenticator {
  let supported = Set(KeychainAccessControl.allCases)
  private let state = Locked<(deadlines: [ContinuousClock.Instant], isReleased: Bool)>(([], false))

  var deadlines: [ContinuousClock.Instant] { state.withLock { $0.deadlines } }

  func release() { state.withLock { $0.isReleased = true } }

  func authenticate(
    for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
  ) async throws -> AuthenticationOutcome {
    state.withLock { $0.deadlines.append(deadline) }
    try await eventually("the release") { self.state.withLock { $0.isReleased } }
    return .confirmed
  }
}
