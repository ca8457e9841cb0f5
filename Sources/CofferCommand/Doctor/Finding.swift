import Coffer

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

  func text(_ style: Style, width: Int) -> String {
    let mark =
      switch verdict {
      case .ok: style.green("ok     ")
      case .warning: style.yellow("warning")
      case .problem: style.red("PROBLEM")
      }
    let indent = String(repeating: " ", count: width + 11)
    let message = message.oneLine().wrapped(to: 100).replacing("\n", with: "\n" + indent)
    var text = "\(mark)  \(style.bold(subject.oneLine().padded(to: width)))  \(message)\n"
    if !fix.isEmpty {
      text += indent + "To do: " + fix.oneLine().wrapped(to: 93).replacing("\n", with: "\n" + indent) + "\n"
    }
    return text
  }

  var json: JSON {
    .object([
      ("subject", .text(subject)), ("verdict", .text(verdict.rawValue)), ("message", .text(message)),
      ("fix", fix.isEmpty ? .none : .text(fix)),
    ])
  }
}
