import Coffer
import CofferFileSystem
import CofferSecrets
import CofferTerminal
import Foundation

/// Checks of the desktop's keyring and of the files in its directory.
enum KeychainChecks {
  static func all() -> [Finding] {
    let state = state()
    do {
      let data = try SystemDirectories.current.url(for: .applicationSupport).path
      let journals = SystemChecks.usable("keyring journals", data + "/coffer/keychain")
      return [state] + (journals.verdict == .ok ? [] : [journals]) + files(in: data + "/keyrings")
    } catch {
      return [state, .problem("keyring journals", error)]
    }
  }

  /// Tells where the values of a service are if that is not the default keyring.
  static func former(_ store: String, service: String, accessGroup: String?) -> [Finding] {
    let former = KeychainInspection.formerKeyring(
      service: service, accessGroup: accessGroup, configuration: KeychainConfiguration())
    guard let former else { return [] }
    // What a locked keyring holds is not certain.
    let verb = former.isLocked ? "may be" : "are"
    let message = "Its values \(verb) in the keyring '\(former.name)', which is not the default one now"
    return [
      former.isLocked
        ? .problem(
          store, message + " and is locked.", fix: "Unlock it in the keyring program (for GNOME: 'seahorse').")
        : .warning(
          store, message + ". They are read and written there.",
          fix: "In the keyring program (for GNOME: 'seahorse'), make '\(former.name)' the default again, or leave it.")
    ]
  }

  private static func state() -> Finding {
    if let obstacle = KeyringInspection.obstacle(allowsPlainSession: allowsPlainKeyring) {
      return .problem("keyring", obstacle)
    }
    guard allowsPlainKeyring, KeyringInspection.hasPlainSession() == true else { return .ok("keyring", "open") }
    return .warning(
      "keyring", "It is open, and secrets cross the session bus unencrypted, as COFFER_ALLOW_PLAIN_KEYRING allows.",
      fix: "Use a keyring that can encrypt them: gnome-keyring, KeePassXC or KWallet.")
  }

  /// Checks the files of gnome-keyring, which treats an unreadable file as missing and creates another one.
  private static func files(in directory: String) -> [Finding] {
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
    var findings: [Finding] = []
    for name in names where name.hasSuffix(".keyring") {
      let path = directory + "/" + name
      if !isWhole(path) {
        findings.append(
          .problem(
            "keyring file", "\(path) is damaged: it is not a complete keyring.",
            fix: "Keep a copy of it, log out, restore it from a backup, and log in again."))
      }
    }
    if names.contains("login.keyring"), names.contains("login_1.keyring") {
      findings.append(
        .warning(
          "keyring file",
          "There is a second login keyring, \(directory)/login_1.keyring: the first was unreadable at some time, "
            + "and its secrets are not found.",
          fix: "Look at both in the keyring program (for GNOME: 'seahorse'); restore login.keyring from a backup."))
    }
    return findings
  }

  private static func isWhole(_ path: String) -> Bool {
    // A file that this user may not read is not reported as damaged.
    guard let file = try? Data(contentsOf: URL(fileURLWithPath: path)) else { return true }
    return KeyringInspection.isWhole(file)
  }
}
