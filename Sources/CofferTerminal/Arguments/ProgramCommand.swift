/// The commands of a program: an enumeration with a case for each, whose raw value is the word that is typed.
///
/// The commands are declared as data. The parser, help, completions and suggestions all use that table, and the
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
///         summary: "greet a person", operands: [.init(name: "NAME", summary: "the name", isRequired: true)],
///         options: [.json], examples: [.init("hello greet Ann", "say hello to Ann")])
///     case .completions:
///       Syntax(
///         summary: "print completions for bash", examples: [.init("source <(hello completions)", "in ~/.bashrc")])
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
// swift-argument-parser could replace this folder and `Completions`; the commands would still receive an invocation.
// It is not used because the package has no dependencies.
public protocol ProgramCommand: CaseIterable, Hashable, RawRepresentable, Sendable
where RawValue == String, AllCases == [Self] {
  /// The options of the program.
  associatedtype Option: ProgramOption

  /// The program that has the commands.
  static var program: Program<Self> { get }

  /// The command that prints a completion script for bash: ``Invocation/printCompletions()``.
  static var completions: Self { get }
  /// The command that explains a command: ``Invocation/explain()``. `--help` is equivalent.
  static var help: Self { get }
  /// The command that prints the version: ``Invocation/printVersion()``. `--version` is equivalent.
  static var version: Self { get }

  /// The operands and options of the command, and the text of its help.
  var syntax: Syntax<Option> { get }
}

extension ProgramCommand {
  /// The synopsis of the command, as help shows it: `coffer set [OPTIONS] KEY [VALUE]`.
  package var usage: String {
    let operands = syntax.operands.map { operand in
      let name = operand.name + (operand.repeats ? "..." : "")
      return operand.isRequired ? name : "[\(name)]"
    }
    return ([Self.program.name, rawValue, "[OPTIONS]"] + operands).joined(separator: " ")
  }

  /// Creates an error about the command line, with advice that refers to the help of a command. The program exits with
  /// ``ExitStatus/usage``.
  ///
  /// ```swift
  /// guard until > Date() else { throw Command.mistake("--until takes a future date.", invocation.command) }
  /// ```
  ///
  /// - Parameters:
  ///   - message: what is wrong, as a sentence. Never repeat a value, which may be a secret.
  ///   - command: the command whose help the advice names; the overview by default.
  public static func mistake(_ message: String, _ command: Self? = nil) -> CommandError {
    let advice = "Try '\(program.name) help\(command.map { " \($0.rawValue)" } ?? "")'."
    return CommandError(.usage, "usage", message, advice: advice)
  }
}
