import Foundation

/// An authenticator with a grace period, which stores of secrets ask before they read a value with an access control.
///
/// ```swift
/// var configuration = StorageConfiguration()
/// configuration.authentication = AuthenticationContext(PolkitAuthenticator(), gracePeriod: .seconds(60))
/// let router = StorageRouter(configuration: configuration)
/// let pin = try await router.get(.pin)  // the desktop asks for the user's password
/// ```
///
/// Reads that wait at the same time for the same access control share one question, in whatever store and for whatever
/// key, and so do later reads within the grace period. Use one context for all stores of a process. Questions for
/// different access controls are asked one after the other.
///
/// A read that is cancelled stops waiting at once; the question is withdrawn with its last reader. The grace period is
/// measured by the monotonic clock and ends with the process.
public final class AuthenticationContext: Sendable {
  private struct State {
    var confirmed: [KeychainAccessControl: ContinuousClock.Instant] = [:]
    var questions: [KeychainAccessControl: (question: SharedQuestion, readers: Int)] = [:]
    /// The last question, which may still be withdrawn: a device serves one question at a time.
    var last: (question: SharedQuestion, asking: Task<Void, Never>)?
  }

  /// The time after a confirmation during which its access control is not asked for again.
  public let gracePeriod: Duration
  /// The time within which a question must be answered, from when it is asked.
  public let timeout: Duration
  private let authenticator: any Authenticator
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Locked(State())

  /// Creates a context.
  /// - Parameters:
  ///   - authenticator: the authenticator that asks the user.
  ///   - gracePeriod: the time after a confirmation during which its access control is not asked for again; by default
  ///     each read asks, except those that wait for the same answer.
  ///   - timeout: the time within which a question must be answered; one minute by default. It begins when the question
  ///     is asked, after those before it. Reads throw `unavailable` when it is over.
  public convenience init(
    _ authenticator: any Authenticator, gracePeriod: Duration = .zero, timeout: Duration = .seconds(60)
  ) {
    self.init(authenticator, gracePeriod: gracePeriod, timeout: timeout, now: { .now })
  }

  /// Creates a context whose grace period is measured by another clock, for tests.
  package init(
    _ authenticator: any Authenticator, gracePeriod: Duration, timeout: Duration,
    now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    self.authenticator = authenticator
    self.gracePeriod = gracePeriod
    self.timeout = timeout
    self.now = now
  }

  /// Returns whether the authenticator can establish an access control.
  public func supports(_ control: KeychainAccessControl) -> Bool { authenticator.supported.contains(control) }

  /// Ends the grace periods, such as when the application is locked: the next read asks. A question that is being asked
  /// is not withdrawn.
  public func endGracePeriods() { state.withLock { $0.confirmed = [:] } }

  /// Asks the user to confirm an access control, unless the grace period of an earlier confirmation lasts.
  /// - Parameters:
  ///   - control: the access control.
  ///   - reason: what the user is asked to permit, as a sentence without any secret. A question that is being asked
  ///     already keeps its own.
  /// - Throws: `StorageError`: `authenticationFailed`, `authenticationCancelled`, `unavailable` if there is no answer,
  ///   `unsupported` for an access control that the authenticator cannot establish; `CancellationError`.
  public func authenticate(for control: KeychainAccessControl, reason: String) async throws {
    try Task.checkCancellation()
    guard supports(control) else { throw StorageError.noAuthenticator(for: control) }
    guard let question = join(control, reason) else { return }
    defer { leave(control, question) }
    try await question.answer()
  }

  /// Joins the present question or asks a new one; returns `nil` within the grace period.
  private func join(_ control: KeychainAccessControl, _ reason: String) -> SharedQuestion? {
    state.withLock { state in
      if let date = state.confirmed[control], gracePeriod > .zero {
        if date.duration(to: now()) < gracePeriod { return nil }
        state.confirmed[control] = nil
      }
      if let (question, readers) = state.questions[control] {
        state.questions[control] = (question, readers + 1)
        return question
      }
      let question = SharedQuestion()
      state.questions[control] = (question, 1)
      state.last = (question, ask(control, reason, question, after: state.last))
      return question
    }
  }

  /// Leaves a question, and withdraws it if nobody waits for its answer.
  private func leave(_ control: KeychainAccessControl, _ question: SharedQuestion) {
    let isWithdrawn = state.withLock { state in
      guard let (present, readers) = state.questions[control], present === question else { return false }
      state.questions[control] = readers > 1 ? (present, readers - 1) : nil
      return readers == 1
    }
    if isWithdrawn { question.end(.failure(CancellationError())) }
  }

  private func ask(
    _ control: KeychainAccessControl, _ reason: String, _ question: SharedQuestion,
    after last: (question: SharedQuestion, asking: Task<Void, Never>)?
  ) -> Task<Void, Never> {
    let asking = Task { [self] in
      _ = try? await last?.question.answer()
      let deadline = ContinuousClock.now + timeout
      // An authenticator that ignores its deadline must not keep readers waiting, neither its own nor the next ones.
      let watchdog = Task { [self] in
        try await Task.sleep(until: deadline, clock: .continuous)
        finish(control, question, .failure(StorageError.unanswered(within: timeout)))
      }
      defer { watchdog.cancel() }
      await last?.asking.value
      let result = await Self.result {
        try Task.checkCancellation()
        return try await authenticator.authenticate(for: control, reason: reason, deadline: deadline)
      }
      finish(control, question, result)
    }
    question.onEnd { asking.cancel() }
    return asking
  }

  private func finish(
    _ control: KeychainAccessControl, _ question: SharedQuestion, _ result: Result<Void, any Error>
  ) {
    state.withLock { state in
      guard state.questions[control]?.question === question else { return }  // withdrawn or answered
      state.questions[control] = nil
      if case .success = result { state.confirmed[control] = now() }
    }
    question.end(result)
  }

  /// Asks, and returns an error unless the outcome is a confirmation.
  private static func result(_ ask: () async throws -> AuthenticationOutcome) async -> Result<Void, any Error> {
    do {
      switch try await ask() {
      case .confirmed: return .success(())
      case .refused:
        return .failure(
          StorageError(
            .authenticationFailed, "The user was not authenticated.", advice: "The value was not read. Try again."))
      case .cancelled:
        return .failure(
          StorageError(
            .authenticationCancelled, "The user dismissed the request for authentication.",
            advice: "The value was not read. Ask again only when the user wants it."))
      }
    } catch let error as StorageError {
      return .failure(error)
    } catch {
      // The text of the error could contain anything; its type cannot.
      let type = String(reflecting: type(of: error))
      return .failure(
        StorageError(
          .unavailable, "The user could not be asked for authentication: the authenticator threw \(type).",
          advice: "The value was not read. Try again.",
          underlying: .init(domain: type, code: (error as NSError).code, text: "no detail")))
    }
  }
}

extension StorageError {
  /// Returns the error for an access control that no authenticator can establish.
  package static func noAuthenticator(for control: KeychainAccessControl) -> StorageError {
    StorageError(
      .unsupported, "No authenticator is available that can establish '\(control)'.",
      advice: "Configure an AuthenticationContext whose authenticator supports it, or store the secret without access "
        + "control if that is sufficient. Nothing was read or written.")
  }
}
