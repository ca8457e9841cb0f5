/// A result of a diagnostic command, which checks whether everything that a program needs works.
///
/// ```swift
/// let findings: [Finding] = [
///   .ok("network", "connected"),
///   .problem("database", "The directory \(folder) cannot be written.", fix: "chmod u+rwx '\(folder)'"),
/// ]
/// let output = Output.standard
/// for finding in findings { try output.write(finding.text(output.style, width: 8, columns: output.columns)) }
/// try output.flush()
/// return findings.contains { $0.verdict == .problem } ? .failure : .ok
/// ```
public struct Finding: Sendable {
  /// The severity of a finding.
  public enum Verdict: String, Sendable {
    /// The subject works as it should.
    case ok
    /// The subject has a defect that does not keep anything from working.
    case warning
    /// The subject does not work.
    case problem
  }

  /// The subject that was checked, in one or two words.
  public let subject: String
  /// The severity of the finding.
  public let verdict: Verdict
  /// What was found, as a sentence.
  public let message: String
  /// What to do; empty if the verdict is ``Verdict/ok``.
  public let fix: String

  /// Creates a finding about a subject that works.
  public static func ok(_ subject: String, _ message: String) -> Finding {
    Finding(subject: subject, verdict: .ok, message: message, fix: "")
  }

  /// Creates a finding about a defect that does not keep anything from working.
  ///
  /// - Parameters:
  ///   - subject: the subject that was checked, in one or two words.
  ///   - message: what is wrong.
  ///   - fix: what to do about it.
  public static func warning(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .warning, message: message, fix: fix)
  }

  /// Creates a finding about a subject that does not work.
  ///
  /// - Parameters:
  ///   - subject: the subject that was checked, in one or two words.
  ///   - message: what is wrong.
  ///   - fix: what to do about it.
  public static func problem(_ subject: String, _ message: String, fix: String) -> Finding {
    Finding(subject: subject, verdict: .problem, message: message, fix: fix)
  }

  /// The finding, as a warning if it is a problem.
  package var asWarning: Finding {
    verdict == .problem ? .warning(subject, message, fix: fix) : self
  }

  /// Returns the finding as lines for people, each with its newline.
  ///
  /// A finding that is ``Finding/Verdict/ok`` is one line; any other has its message and advice below its subject.
  /// Lines longer than `columns` are wrapped between words. Control characters are escaped.
  ///
  /// - Parameters:
  ///   - style: the colours.
  ///   - width: the column to which subjects are padded, so that messages are aligned.
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
      // A message that would be a narrow column is placed below its subject.
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

  /// The finding as an object with the members `subject`, `verdict`, `message` and `fix`, which is `null` if there is
  /// nothing to do.
  public var json: JSON {
    .object([
      ("subject", .text(subject)), ("verdict", .text(verdict.rawValue)), ("message", .text(message)),
      ("fix", fix.isEmpty ? .none : .text(fix)),
    ])
  }
}

extension [String] {
  /// Returns the lines, indented below a title.
  fileprivate func below(_ title: String, indent: Int) -> String {
    ([title] + map { String(repeating: " ", count: indent) + $0 }).joined(separator: "\n") + "\n"
  }
}
