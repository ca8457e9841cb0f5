import CofferCore
import CofferTestSupport

/// An authenticator that answers as told, and records what it was asked.
final class ScriptedAuthenticator: Authenticator {
  struct Question: Hashable {
    let control: KeychainAccessControl
    let reason: String
  }

  private struct State {
    var answer = AuthenticationOutcome.confirmed
    var questions: [Question] = []
    var cancelled = 0
    var running = 0
    var mostRunning = 0
  }

  let supported: Set<KeychainAccessControl>
  private let state = Locked(State())
  /// Opened for each answer, if answers wait.
  private let gate: Gate?

  /// - Parameter waits: whether each answer waits for ``release()``.
  init(_ supported: Set<KeychainAccessControl> = Set(KeychainAccessControl.allCases), waits: Bool = false) {
    self.supported = supported
    gate = waits ? Gate() : nil
  }

  var questions: [Question] { state.withLock { $0.questions } }
  var cancelled: Int { state.withLock { $0.cancelled } }
  var mostRunning: Int { state.withLock { $0.mostRunning } }
  var answer: AuthenticationOutcome {
    get { state.withLock { $0.answer } }
    set { state.withLock { $0.answer = newValue } }
  }

  /// Lets one question be answered.
  func release() { gate?.open() }

  /// Waits until a number of questions were asked.
  func asked(_ count: Int) async throws {
    try await eventually("\(count) questions") { questions.count >= count }
  }

  func authenticate(
    for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
  ) async throws -> AuthenticationOutcome {
    state.withLock { state in
      state.questions.append(Question(control: control, reason: reason))
      state.running += 1
      state.mostRunning = max(state.mostRunning, state.running)
    }
    defer { state.withLock { $0.running -= 1 } }
    do {
      try await gate?.pass()
    } catch {
      state.withLock { $0.cancelled += 1 }
      throw error
    }
    return answer
  }
}

/// A semaphore whose waits can be cancelled.
private final class Gate: Sendable {
  private let permits = Locked(0)

  func open() { permits.withLock { $0 += 1 } }

  func pass() async throws {
    try await eventually("the answer is released") {
      permits.withLock { permits in
        guard permits > 0 else { return false }
        permits -= 1
        return true
      }
    }
  }
}
