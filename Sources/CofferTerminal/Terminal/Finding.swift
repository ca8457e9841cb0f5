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

  /// What is well is one line. What is not has its message and what to do below it: a line each. A terminal of so many
  /// columns gets them broken between words.
  package func text(_ style: Style, width: Int, columns: Int) -> String {
    let name = subject.oneLine()
    let mark =
      switch verdict {
      case .ok: style.green("ok     ")
      case .warning: style.yellow("warning")
      case .problem: style.red("PROBLEM")
      }
    guard verdict != .ok else {
      let start = "ok       ".count + max(width, name.columns) + 2
      let isNarrow = columns < start + 32
      let room = columns == .max ? columns : max(20, columns - (isNarrow ? 9 : start))
      let broken = message.oneLine().wrapped(to: room).loosened.split(separator: "\n").map(String.init)
      let begin = "\(mark)  \(name.padded(to: width))"
      // Where the message would be a narrow column, it is below its subject.
      if isNarrow, start + message.columns > columns { return broken.below("\(mark)  \(name)", indent: 9) }
      let text = broken.joined(separator: "\n" + String(repeating: " ", count: start))
      return "\(begin)  \(text)\n"
    }
    let lines = [message] + (fix.isEmpty ? [] : ["To do: \(fix)"])
    let indent = String(repeating: " ", count: 9)
    return "\(mark)  \(style.bold(name))\n"
      + lines.map { line in
        let broken = line.oneLine().wrapped(to: columns == .max ? columns : max(20, columns - indent.count)).loosened
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

extension [String] {
  /// The lines below a title.
  fileprivate func below(_ title: String, indent: Int) -> String {
    ([title] + map { String(repeating: " ", count: indent) + $0 }).joined(separator: "\n") + "\n"
  }
}
