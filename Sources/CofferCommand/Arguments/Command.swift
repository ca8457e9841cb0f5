/// Every command by its name.
enum Command: String, CaseIterable, Sendable {
  case set, get, rm, ls, cp, watch, info, verify, audit, doctor, completions, help, version

  /// What the command takes and what its help says.
  var syntax: Syntax {
    switch self {
    case .set: .set
    case .get: .get
    case .rm: .rm
    case .ls: .ls
    case .cp: .cp
    case .watch: .watch
    case .info: .info
    case .verify: .verify
    case .audit: .audit
    case .doctor: .doctor
    case .completions: .completions
    case .help: .help
    case .version: .version
    }
  }

  /// `coffer set [OPTIONS] KEY [VALUE]`
  var usage: String {
    let operands = syntax.operands.map { operand in
      let name = operand.name + (operand.repeats ? "..." : "")
      return operand.isRequired ? name : "[\(name)]"
    }
    return (["coffer", rawValue, "[OPTIONS]"] + operands).joined(separator: " ")
  }
}

/// One command, declared as data. The parser, help, completions and "did you mean" all read this table.
///
/// `Arguments` is the seam where swift-argument-parser could take over: it would replace this folder and
/// `Completions`, and the commands would go on taking an ``Invocation``. It is not used because the package
/// has no dependencies, and these few files start faster than it links.
struct Syntax: Sendable {
  /// What an operand is, for completions.
  enum OperandKind: Sendable { case key, value, store, shell, command }

  struct Operand: Sendable {
    let name: String
    let kind: OperandKind
    let summary: String
    var isRequired = false
    var repeats = false
  }

  /// A line that works when it is typed, and what it is for.
  struct Example: Sendable {
    let line: String
    let purpose: String

    init(_ line: String, _ purpose: String) {
      self.line = line
      self.purpose = purpose
    }
  }

  let summary: String
  var operands: [Operand] = []
  var options: [Option] = []
  /// Paragraphs for help, of lines that fit a terminal.
  var details: [String] = []
  let examples: [Example]
  /// What other tools call it, for "did you mean".
  var aliases: [String] = []

  /// All options, with those that every command takes.
  var allOptions: [Option] { options + [.help] }
}
