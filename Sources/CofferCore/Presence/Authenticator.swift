/// A service that asks the user of the device to confirm that a secret may be read.
///
/// ```swift
/// struct PINAuthenticator: Authenticator {
///   let supported = KeychainAccessControl.devicePasscode.satisfied
///
///   func authenticate(
///     for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
///   ) async throws -> AuthenticationOutcome {
///     guard let pin = try await askForPIN(reason, until: deadline) else { return .cancelled }
///     return try await isCorrect(pin) ? .confirmed : .refused
///   }
/// }
/// ```
///
/// `PolkitAuthenticator` asks by means of the desktop, `FprintAuthenticator` by means of a fingerprint reader, and
/// ``CombinedAuthenticator`` by means of several. An ``AuthenticationContext`` asks for values that are read.
///
/// - Warning: An authenticator is advisory: it answers yes or no to a process that can read the secret anyway. Another
///   program of the same user can read the keyring without asking anybody. Only a passphrase or a TPM enforces.
public protocol Authenticator: Sendable {
  /// The access controls that a confirmation by this authenticator establishes, weaker ones included
  /// (``KeychainAccessControl/satisfied``). Must not change, nor depend on the state of a device: a key with any other
  /// access control is refused when it is declared.
  var supported: Set<KeychainAccessControl> { get }

  /// Asks the user, and returns the answer.
  ///
  /// It must withdraw the question and return soon once the task is cancelled.
  /// - Parameters:
  ///   - control: the confirmation that is required, one of ``supported``.
  ///   - reason: what the user is asked to permit, as a sentence without any secret.
  ///   - deadline: when the question is withdrawn and an error is thrown.
  /// - Throws: Any error if there is no answer, such as `StorageError` with code `unavailable` without the required
  ///   service or device, or after the deadline. It counts as a refusal.
  func authenticate(
    for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
  ) async throws -> AuthenticationOutcome
}

/// The answer to a request for authentication.
public enum AuthenticationOutcome: Hashable, Sendable {
  /// The user was authenticated as required.
  case confirmed
  /// The user was not authenticated, such as after wrong passwords, or by rule.
  case refused
  /// The user dismissed the question.
  case cancelled
}
