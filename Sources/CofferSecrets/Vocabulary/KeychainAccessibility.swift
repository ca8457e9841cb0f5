/// The condition under which a secret may be read: one of Apple's seven accessibility classes.
///
/// Every item records its class, and Apple systems enforce it. The keyring of a Linux desktop enforces only that
/// nothing can be read while it is locked. That is ``whenUnlocked``, and the other classes are not stricter there. A
/// keyring that was unlocked at log-in usually stays unlocked while the screen is locked. It is not synchronized to
/// other devices, but copying the home directory copies the keyring as well.
public enum KeychainAccessibility: UInt8, CaseIterable, Hashable, Sendable {
  // The numbers are written to disk: never renumber.
  /// While the device is unlocked.
  case whenUnlocked = 1
  /// From the first unlocking of the device after its start.
  case afterFirstUnlock = 2
  /// While the device is unlocked; not in backups for other devices.
  case whenUnlockedThisDeviceOnly = 3
  /// From the first unlocking of the device after its start; not in backups for other devices.
  case afterFirstUnlockThisDeviceOnly = 4
  /// While the device is unlocked, and only if it has a passcode; deleted with the passcode.
  case whenPasscodeSetThisDeviceOnly = 5
  /// Always. On Linux a locked keyring cannot be read nevertheless.
  case always = 6
  /// Always; not in backups for other devices.
  case alwaysThisDeviceOnly = 7

  /// The name of the case, as recorded in keyring items.
  package var name: String { "\(self)" }
}
