import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// A file that an option names as the source of a key or of a passphrase.
struct SecretFile: Sendable {
  enum Content: String, Sendable { case key, passphrase }

  let path: String
  let content: Content

  /// Throws a usage error when the file does not exist, which implies nothing about a store.
  func refuseIfMissing() throws {
    guard access(path, F_OK) != 0, errno == ENOENT else { return }
    throw Command.mistake("The \(content.rawValue) cannot be read: there is no file \(path.oneLine()).")
  }

  /// Returns what prevents the use of the file, or makes it unsafe.
  /// - Parameter user: the user who runs the command.
  func findings(for user: uid_t = geteuid()) -> [Finding] {
    let (subject, quoted) = (content.rawValue, path.quotedForShell)
    var status = stat()
    guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
      return [
        .problem(
          subject, "The \(subject) cannot be read from \(path).",
          fix: "Check the path; this user must be able to read it.")
      ]
    }
    let isCredential = PassphraseSurroundings.system.passesCredential(URL(fileURLWithPath: path).path)
    guard status.st_mode & S_IFMT == S_IFREG, !isCredential else { return [] }
    if status.st_mode & 0o066 != 0 {
      return [
        .problem(
          subject, "Other users may read or change the \(subject) in \(path), so no store is opened with it.",
          fix: "chmod 600 \(quoted)"
            + (content == .key
              ? "; if it was exposed: coffer rekey, then coffer rotate."
              : ", and change the passphrase if it was read."))
      ]
    }
    if user != 0, ![0, user].contains(status.st_uid) {
      return [
        .problem(
          subject, "The \(subject) in \(path) belongs to another user, so no store is opened with it.",
          fix: "Copy it to a file of this user.")
      ]
    }
    return []
  }
}
