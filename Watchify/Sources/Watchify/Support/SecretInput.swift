import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// Reading of secrets, which are never arguments: every user of the system can read those.
enum SecretInput {
  /// The maximum size of a secret, in bytes.
  private static let limit = 8_192

  /// Returns the secret in a file, or a line of standard input for "-".
  static func read(from path: String, _ what: String) throws -> String {
    if path == "-" { return try line(what) }
    return try checked(Data(text(of: path, named: "secret").utf8), what)
  }

  /// Returns the secret in a file without a trailing newline.
  /// - Throws: `StorageError` if it cannot be read, or if other users can read or change the file.
  static func text(of path: String, named name: String) throws -> String {
    try PassphraseSource.file(URL(fileURLWithPath: path)).text(named: name)
  }

  /// Returns a line of standard input. At a terminal it is asked for and not shown.
  static func line(_ what: String) throws -> String {
    let isTerminal = Input.isTerminal
    if isTerminal {
      try Output.error.write("Enter \(what): ")
      try Output.error.flush()
    }
    var settings = termios()
    let isHidden = isTerminal && tcgetattr(STDIN_FILENO, &settings) == 0
    if isHidden {
      var silent = settings
      silent.c_lflag &= ~tcflag_t(ECHO)
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    }
    let text = readLine()
    if isHidden {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
      try Output.error.write("\n")
      try Output.error.flush()
    }
    return try checked(Data((text ?? "").utf8), what)
  }

  private static func checked(_ data: Data, _ what: String) throws -> String {
    let text = String(data: data, encoding: .utf8)?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    guard !text.isEmpty, data.count <= limit, isPlain else {
      throw CommandError(
        .failure, "noSecret", "There is no usable text for \(what): one line is expected.",
        advice: "Nothing was changed.")
    }
    return text
  }
}
