import Coffer
import CofferTerminal

/// One thing that the doctor has looked at.
struct Finding: Sendable {
  enum Verdict: String, Sendable {
    case ok, warning, problem
  }

  let subject: String
  let verdict: Verdict
  let message: String
  /// What to do; empty where nothing is wrong.
  let fix: String

  static func ok(_ subject: String, _ message: String) -> Finding {
    Finding(subject: subject, verdict: .ok, message: message, fix: "")
  }

  static func warning(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .warning, message: message, fix: fix)
  }

  static func problem(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .problem, message: message, fix: fix)
  }

  /// What an error says, as a problem.
  static func problem(_ subject: String, _ error: any Error) -> Finding {
    guard let error = error as? StorageError else {
      let error = CommandError(error)
      return problem(subject, error.message, fix: error.advice)
    }
    let cause = error.underlying.map { " (\($0.domain) \($0.code): \($0.text))" } ?? ""
    return problem(subject, error.message + cause, fix: error.advice)
  }

  /// The same, where it keeps nothing from working.
  var asWarning: Finding {
    verdict == .problem ? .warning(subject, message, fix: fix) : self
  }

  /// What is well is one line. What is not has its message and what to do below it: a line each, which a terminal of
  /// so many columns gets broken between words.
  func text(_ style: Style, width: Int, columns: Int) -> String {
    let name = subject.oneLine()
    let mark =
      switch verdict {
      case .ok: style.green("ok     ")
      case .warning: style.yellow("warning")
      case .problem: style.red("PROBLEM")
      }
    guard verdict != .ok else { return "\(mark)  \(name.padded(to: width))  \(message.oneLine())\n" }
    let lines = [message] + (fix.isEmpty ? [] : ["To do: \(fix)"])
    let indent = String(repeating: " ", count: 9)
    return "\(mark)  \(style.bold(name))\n"
      + lines.map { line in
        let broken = line.oneLine().wrapped(to: columns == .max ? columns : max(20, columns - indent.count))
        return indent + broken.replacing("\n", with: "\n" + indent) + "\n"
      }.joined()
  }

  var json: JSON {
    .object([
      ("subject", .text(subject)), ("verdict", .text(verdict.rawValue)), ("message", .text(message)),
      ("fix", fix.isEmpty ? .none : .text(fix)),
    ])
  }
}

extension String {
  /// The string as one word of a shell.
  var quotedForShell: String {
    guard contains(where: { !$0.isASCII || !($0.isLetter || $0.isNumber || "/._-+:@,=".contains($0)) }) else {
      return self
    }
    return "'" + replacing("'", with: "'\\''") + "'"
  }
}
