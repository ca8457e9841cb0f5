#if SecretService && os(Linux)
  import CofferBus
  public import CofferCore
  import Foundation

  /// An authenticator that asks by means of polkit, whose agent on the desktop asks for a password or a finger.
  ///
  /// ```swift
  /// configuration.authentication = AuthenticationContext(PolkitAuthenticator(action: "com.example.shop.read-secret"))
  /// ```
  ///
  /// The action must be installed on the machine, as a file in `/usr/share/polkit-1/actions`; the directory
  /// `docs/polkit` of the repository has one to adapt. Its text is what the user reads: polkit shows a reason of the
  /// program only if root trusts the program. Rules of the administrator may answer for the user.
  ///
  /// What the agent asks for depends on the machine: on the service `polkit-1` of PAM. By default, a confirmation
  /// therefore establishes `KeychainAccessControl.userPresence` and nothing else.
  ///
  /// Polkit authorizes root without a question, so that in a process of root it supports no access control.
  public struct PolkitAuthenticator: Authenticator {
    /// The identifier of the action unless another one is given.
    public static let defaultAction = "org.coffer.read-secret"

    public let supported: Set<KeychainAccessControl>
    private let action: String
    private let service: QuestionService

    /// Creates an authenticator.
    /// - Parameters:
    ///   - action: the identifier of the installed action.
    ///   - confirms: what PAM's service `polkit-1` establishes on the machines of the application:
    ///     `KeychainAccessControl.devicePasscode` if it accepts only the password of the user, or
    ///     `KeychainAccessControl.biometryAnyOrDevicePasscode` if it accepts the password and enrolled fingers.
    public init(
      action: String = PolkitAuthenticator.defaultAction, confirms: KeychainAccessControl = .userPresence
    ) {
      self.init(action: action, confirms: confirms, address: nil, isRoot: geteuid() == 0)
    }

    /// Creates an authenticator on another bus than the system's, for tests.
    package init(
      action: String = PolkitAuthenticator.defaultAction, confirms: KeychainAccessControl = .userPresence,
      address: String?, isRoot: Bool = false
    ) {
      supported = isRoot ? [] : confirms.satisfied
      self.action = action
      service = QuestionService(
        name: "org.freedesktop.PolicyKit1", title: "Polkit", package: "polkitd", address: address)
    }

    public func authenticate(
      for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
    ) async throws -> AuthenticationOutcome {
      let question = PolkitQuestion(action, service, deadline)
      return try await withTaskCancellationHandler {
        try await runOnThread(named: "coffer.polkit") { try question.ask() }
      } onCancel: {
        question.cancel()
      }
    }
  }
#endif
