/// One thing that a command's doctor has looked at.
package struct Finding: Sendable {
  package enum Verdict: String, Sendable {
    case ok, warning, problem
  }

  package let subject: String
  package let verdict: Verdict
  package let message: String
  /// What to do; empty where nothing is wrong.
  package let fix: String

  package static func ok(_ subject: String, _ message: String) -> Finding {
    Finding(subject: subject, verdict: .ok, message: message, fix: "")
  }

  package static func warning(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .warning, message: message, fix: fix)
  }

  package static func problem(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .problem, message: message, fix: fix)
  }

  /// The same, where it keeps nothing from working.
  package var asWarning: Finding {
    verdict == .problem ? .warning(subject, message, fix: fix) : self
  }

  /// What is well is one line. What is not has its message and what to do below it: a line each, which a terminal of
  /// so many columns gets broken between words.
  package func text(_ style: Style, width: Int, columns: Int) -> String {
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

  package var json: JSON {
    .object([
      ("subject", .text(subject)), ("verdict", .text(verdict.rawValue)), ("message", .text(message)),
      ("fix", fix.isEmpty ? .none : .text(fix)),
    ])
  }
}
