/// One result of a command that looks for what keeps a program from working.
///
/// ```swift
/// let findings: [Finding] = [
///   .ok("network", "connected"),
///   .problem("database", "Nothing can be written in \(folder).", fix: "chmod u+rwx '\(folder)'"),
/// ]
/// let output = Output.standard
/// for finding in findings { try output.write(finding.text(output.style, width: 8, columns: output.columns)) }
/// try output.flush()
/// return findings.contains { $0.verdict == .problem } ? .failure : .ok
/// ```
public struct Finding: Sendable {
  /// How bad it is.
  public enum Verdict: String, Sendable {
    /// Nothing is wrong.
    case ok
    /// Something is wrong that keeps nothing from working.
    case warning
    /// Something does not work.
    case problem
  }

  /// What was looked at, in a word or two.
  public let subject: String
  /// How bad it is.
  public let verdict: Verdict
  /// What was found, as a sentence.
  public let message: String
  /// What to do; empty where nothing is wrong.
  public let fix: String

  /// Creates a finding of something that works.
  public static func ok(_ subject: String, _ message: String) -> Finding {
    Finding(subject: subject, verdict: .ok, message: message, fix: "")
  }

  /// Creates a finding of something wrong that keeps nothing from working.
  ///
  /// - Parameters:
  ///   - subject: what was looked at, in a word or two.
  ///   - message: what is wrong.
  ///   - fix: what to do about it.
  public static func warning(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .warning, message: message, fix: fix)
  }

  /// Creates a finding of something that does not work.
  ///
  /// - Parameters:
  ///   - subject: what was looked at, in a word or two.
  ///   - message: what is wrong.
  ///   - fix: what to do about it.
  public static func problem(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .problem, message: message, fix: fix)
  }

  /// The same finding, with a warning in place of a problem.
  package var asWarning: Finding {
    verdict == .problem ? .warning(subject, message, fix: fix) : self
  }

  /// Returns the finding as lines for people, with their ends.
  ///
  /// A finding that is ``Finding/Verdict/ok`` is one line; any other has its message and what to do below its subject.
  /// Lines are broken between words where they have more than `columns`. Control characters are escaped.
  ///
  /// - Parameters:
  ///   - style: the colours.
  ///   - width: the columns that subjects are padded to, so that the messages are below each other.
  ///   - columns: the width of the terminal, such as ``Output/columns``.
  public func text(_ style: Style, width: Int, columns: Int) -> String {
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

  /// The finding as an object with the members `subject`, `verdict`, `message` and `fix`, which is `null` where nothing
  /// is wrong.
  public var json: JSON {
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
