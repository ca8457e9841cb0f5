/// The confirmation by the user that is required to read a secret.
///
/// It requires an ``Authenticator``. A secret with an access control that none can establish is refused; it is never
/// stored with less protection than requested.
///
/// - Warning: On Linux it is advisory. An authenticator answers yes or no to a process that can read the secret anyway:
///   it protects against a person at an unlocked desktop, not against a program of the same user. Only a key that is
///   derived from a passphrase, as that of a sealed file, or one inside a TPM is enforced.
public enum KeychainAccessControl: UInt8, CaseIterable, Hashable, Sendable {
  // The numbers are written to disk: never renumber.
  /// The presence of the device's user, confirmed in any way.
  case userPresence = 1
  /// Any face or finger that is enrolled on the device.
  case biometryAny = 2
  /// A face or finger that was enrolled when the secret was stored.
  case biometryCurrentSet = 3
  /// The device's passcode.
  case devicePasscode = 4
  /// Any face or finger that is enrolled on the device, or the passcode.
  case biometryAnyOrDevicePasscode = 5
  /// A face or finger that was enrolled when the secret was stored, or the passcode.
  case biometryCurrentSetOrDevicePasscode = 6

  /// The access controls that are satisfied by what satisfies this one, itself included: a passcode confirms the
  /// presence of the user as well, but presence that is confirmed in any way proves no passcode.
  public var satisfied: Set<KeychainAccessControl> {
    switch self {
    case .userPresence: [.userPresence]
    case .biometryAny: [.biometryAny, .biometryAnyOrDevicePasscode, .userPresence]
    case .biometryCurrentSet:
      [
        .biometryCurrentSet, .biometryAny, .biometryCurrentSetOrDevicePasscode, .biometryAnyOrDevicePasscode,
        .userPresence,
      ]
    case .devicePasscode:
      [.devicePasscode, .biometryAnyOrDevicePasscode, .biometryCurrentSetOrDevicePasscode, .userPresence]
    case .biometryAnyOrDevicePasscode: [.biometryAnyOrDevicePasscode, .userPresence]
    case .biometryCurrentSetOrDevicePasscode:
      [.biometryCurrentSetOrDevicePasscode, .biometryAnyOrDevicePasscode, .userPresence]
    }
  }
}

extension ValueAttributes {
  /// The confirmation that is required to read the value, or `nil` if none is recorded or it is unknown here.
  package var accessControl: KeychainAccessControl? {
    get { self[.accessControl].flatMap(KeychainAccessControl.init) }
    set { self[.accessControl] = newValue?.rawValue }
  }
}
