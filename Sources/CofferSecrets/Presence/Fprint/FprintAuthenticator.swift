#if SecretService && os(Linux)
  public import CofferCore

  /// An authenticator that asks for an enrolled finger by means of a fingerprint reader and fprintd.
  ///
  /// ```swift
  /// let authenticator = FprintAuthenticator { prompt in
  ///   if case .touchSensor(let reason) = prompt { showMessage("\(reason) Touch the fingerprint reader.") }
  /// }
  /// ```
  ///
  /// Fprintd shows nothing: the application has to tell the user to touch the reader. The finger may be any that is
  /// enrolled for the user of the process at that time. Fprintd does not reveal whether a finger was enrolled anew, so
  /// that `KeychainAccessControl.biometryCurrentSet` is not supported.
  public struct FprintAuthenticator: Authenticator {
    /// What the application shows while a finger is asked for.
    public enum Prompt: Hashable, Sendable {
      /// The user has to touch the reader, for the given reason.
      case touchSensor(reason: String)
      /// The finger was not read or not recognized: the user has to touch the reader again.
      case touchAgain
      /// No finger is expected any more. It always follows the others.
      case ended
    }

    public let supported = KeychainAccessControl.biometryAny.satisfied
    private let attempts: Int
    private let onPrompt: (@Sendable (Prompt) -> Void)?
    private let service: QuestionService

    /// Creates an authenticator.
    /// - Parameters:
    ///   - attempts: the number of fingers that are not recognized before the user is refused; 3 by default.
    ///   - onPrompt: called on another thread with what the application has to show; it must return soon.
    public init(attempts: Int = 3, onPrompt: (@Sendable (Prompt) -> Void)? = nil) {
      self.init(attempts: attempts, address: nil, onPrompt: onPrompt)
    }

    /// Creates an authenticator on another bus than the system's, for tests.
    package init(attempts: Int = 3, address: String?, onPrompt: (@Sendable (Prompt) -> Void)? = nil) {
      self.attempts = max(1, attempts)
      self.onPrompt = onPrompt
      service = QuestionService(
        name: "net.reactivated.Fprint", title: "The fingerprint service", package: "fprintd", address: address)
    }

    public func authenticate(
      for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
    ) async throws -> AuthenticationOutcome {
      let verification = FingerVerification(service, attempts: attempts, deadline: deadline, reason: reason, onPrompt)
      return try await withTaskCancellationHandler {
        try await runOnThread(named: "coffer.fprint") { try verification.run() }
      } onCancel: {
        verification.cancel()
      }
    }
  }
#endif
