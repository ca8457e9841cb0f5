import Coffer
import CofferFileSystem
import CofferKeychain
import Foundation

/// The desktop's keyring and what lies in its directory.
enum KeychainChecks {
  static func all() -> [Finding] {
    let state = state()
    guard let data = try? SystemDirectories.current.url(for: .applicationSupport).path else { return [state] }
    return [state] + files(in: data + "/keyrings")
  }

  private static func state() -> Finding {
    KeyringDiagnosis.obstacle().map { .problem("keyring", $0) } ?? .ok("keyring", "open")
  }

  /// gnome-keyring takes a file that it cannot read for none, and begins another one.
  private static func files(in directory: String) -> [Finding] {
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
    var findings: [Finding] = []
    for name in names where name.hasSuffix(".keyring") {
      let path = directory + "/" + name
      if !isWhole(path) {
        findings.append(
          .problem(
            "keyring file", "\(path) is damaged: it is not what a keyring begins with.",
            fix: "Keep a copy of it, stop the keyring, and put a backup in its place."))
      }
    }
    if names.contains("login.keyring"), names.contains("login_1.keyring") {
      findings.append(
        .warning(
          "keyring file", "There is a second login keyring, login_1.keyring: the first could not be read at some time, "
            + "and what it holds is not found.",
          fix: "Look at both in the keyring program (for GNOME: 'seahorse'); restore login.keyring from a backup."))
    }
    return findings
  }

  private static func isWhole(_ path: String) -> Bool {
    guard let file = FileHandle(forReadingAtPath: path) else { return true }  // Not ours to read: not ours to judge.
    defer { try? file.close() }
    let start = (try? file.read(upToCount: 16)) ?? Data()
    return start == Data("GnomeKeyring\n\r\0\n".utf8) || start.starts(with: Data("[keyring]".utf8))
  }
}
