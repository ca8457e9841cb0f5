/// The commands of a program: an enumeration with a case for each, whose raw value is the word that is typed.
///
/// The commands are declared as data. The parser, help, completions and "did you mean" all read that table, and the
/// program's own `switch` over its commands stays exhaustive.
///
/// ```swift
/// enum Command: String, ProgramCommand {
///   case greet, completions, help, version
///
///   static let program = Program<Command>(
///     name: "hello", version: "1.0.0", purpose: "Greet people.", introduction: [.greet])
///
///   var syntax: Syntax<Option> {
///     switch self {
///     case .greet:
///       Syntax(
///         summary: "greet somebody", operands: [.init(name: "NAME", summary: "the name", isRequired: true)],
///         options: [.json], examples: [.init("hello greet Ann", "say hello to Ann")])
///     case .completions:
///       Syntax(
///         summary: "print shell completions",
///         operands: [.init(name: "SHELL", completion: Shell.completion, summary: "the shell", isRequired: true)],
///         examples: [.init("source <(hello completions bash)", "in ~/.bashrc")])
///     case .help:
///       Syntax(
///         summary: "show help",
///         operands: [.init(name: "COMMAND", completion: .commands, summary: "the command to explain")],
///         examples: [.init("hello help greet", "the same as hello greet --help")])
///     case .version:
///       Syntax(summary: "show the version", options: [.json], examples: [.init("hello version", "the number")])
///     }
///   }
/// }
/// ```
///
/// `Option` is the program's ``ProgramOption``. ``main(_:)`` runs the process.
// This folder is the seam where swift-argument-parser could take over: it would replace it and `Completions`, and the
// commands would go on taking an invocation. It is not used because the package has no dependencies, and these few
// files start faster than it links.
public protocol ProgramCommand: CaseIterable, Hashable, RawRepresentable, Sendable
where RawValue == String, AllCases == [Self] {
  /// The options of the program.
  associatedtype Option: ProgramOption

  /// The program that has the commands.
  static var program: Program<Self> { get }

  /// Prints a completion script: ``Invocation/printCompletions()``.
  static var completions: Self { get }
  /// Explains a command: ``Invocation/explain()``. `--help` is another way to write it.
  static var help: Self { get }
  /// Prints the version: ``Invocation/printVersion()``. `--version` is another way to write it.
  static var version: Self { get }

  /// What the command takes and what its help says.
  var syntax: Syntax<Option> { get }
}

extension ProgramCommand {
  /// The command line in short, as help shows it: `coffer set [OPTIONS] KEY [VALUE]`.
  package var usage: String {
    let operands = syntax.operands.map { operand in
      let name = operand.name + (operand.repeats ? "..." : "")
      return operand.isRequired ? name : "[\(name)]"
    }
    return ([Self.program.name, rawValue, "[OPTIONS]"] + operands).joined(separator: " ")
  }

  /// Creates an error about what was typed, whose advice names the help to read.
  ///
  /// - Parameters:
  ///   - message: what is wrong, as a sentence. Never repeat a value, which may be a secret.
  ///   - command: the command whose help to read; the overview, unless given.
  public static func mistake(_ message: String, _ command: Self? = nil) -> UsageError {
    UsageError(message, advice: "Try '\(program.name) help\(command.map { " \($0.rawValue)" } ?? "")'.")
  }
}

/// An error about what was typed; the program ends with ``ExitStatus/usage``.
///
/// ``ProgramCommand/mistake(_:_:)`` creates one with advice:
///
/// ```swift
/// guard until > Date() else { throw Command.mistake("--until takes a date to come.", invocation.command) }
/// ```
///
/// The parser never repeats a value in a message, since it may be a secret.
public struct UsageError: Error, Equatable {
  /// What is wrong, as a sentence.
  public let message: String
  /// Where to read more, as a sentence.
  public let advice: String

  /// Creates an error from two sentences.
  public init(_ message: String, advice: String) {
    self.message = message
    self.advice = advice
  }
}
