/// When a secret may be read (document 4), in Apple's seven classes.
///
/// Every item keeps its class, and Apple systems enforce it. The keyring of a Linux desktop enforces one thing: while
/// it is locked, nobody reads. That is ``whenUnlocked``, and the other classes are not stricter there than it: once the
/// keyring was unlocked at log-in, it usually stays so while the screen is locked. Nothing leaves the device by itself
/// there; whoever copies the home directory copies the keyring, too.
public enum KeychainAccessibility: UInt8, CaseIterable, Hashable, Sendable {
  // The numbers are written to disk: never renumber.
  /// While the device is unlocked.
  case whenUnlocked = 1
  /// From the first time on that the device is unlocked after its start.
  case afterFirstUnlock = 2
  /// While the device is unlocked; not in backups for other devices.
  case whenUnlockedThisDeviceOnly = 3
  /// From the first unlocking on; not in backups for other devices.
  case afterFirstUnlockThisDeviceOnly = 4
  /// While the device is unlocked, and only if it has a passcode; gone with the passcode.
  case whenPasscodeSetThisDeviceOnly = 5
  /// Always. On Linux a locked keyring cannot be read for it either.
  case always = 6
  /// Always; not in backups for other devices.
  case alwaysThisDeviceOnly = 7

  /// The case's name, as items of a keyring keep it.
  package var name: String { "\(self)" }
}

/// How the user must confirm that a secret is read.
///
/// Nothing on Linux enforces it without an authenticator, which this version does not have. A key that asks for one is
/// refused; it is never stored with less protection than it asks for.
public enum KeychainAccessControl: UInt8, CaseIterable, Hashable, Sendable {
  /// The person who uses the device, however it is shown.
  case userPresence = 1
  /// Any face or finger that the device knows.
  case biometryAny = 2
  /// A face or finger that the device knew when the secret was stored.
  case biometryCurrentSet = 3
  /// The device's passcode.
  case devicePasscode = 4
  /// Any face or finger that the device knows, or the passcode.
  case biometryAnyOrDevicePasscode = 5
  /// A face or finger that the device knew when the secret was stored, or the passcode.
  case biometryCurrentSetOrDevicePasscode = 6
}
