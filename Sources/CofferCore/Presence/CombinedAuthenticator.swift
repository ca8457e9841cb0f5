/// Several authenticators in order of preference, such as a fingerprint reader and the desktop.
///
/// ```swift
/// let authenticator = CombinedAuthenticator([FprintAuthenticator(), PolkitAuthenticator(confirms: .devicePasscode)])
/// authenticator.supported  // all but biometryCurrentSet
/// ```
///
/// It asks those that support an access control one after the other until one confirms it, each within an equal share
/// of the time that is left. It asks no further if the user dismisses a question. If none confirms, the outcome is
/// `refused` if one refused, or else the last error.
public struct CombinedAuthenticator: Authenticator {
  private let authenticators: [any Authenticator]

  /// Creates an authenticator from others, in the order in which they ask.
  public init(_ authenticators: [any Authenticator]) { self.authenticators = authenticators }

  public var supported: Set<KeychainAccessControl> {
    authenticators.reduce(into: []) { $0.formUnion($1.supported) }
  }

  public func authenticate(
    for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
  ) async throws -> AuthenticationOutcome {
    var (isRefused, failure) = (false, nil as (any Error)?)
    let candidates = authenticators.filter { $0.supported.contains(control) }
    for (index, authenticator) in candidates.enumerated() {
      try Task.checkCancellation()
      let now = ContinuousClock.now
      let end = now + now.duration(to: deadline) / (candidates.count - index)
      do {
        switch try await authenticator.authenticate(for: control, reason: reason, deadline: end) {
        case .confirmed: return .confirmed
        case .cancelled: return .cancelled
        case .refused: isRefused = true
        }
      } catch {
        try Task.checkCancellation()
        failure = error
      }
    }
    if !isRefused, let failure { throw failure }
    return .refused
  }
}
