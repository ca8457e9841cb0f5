/// The shells for which completion scripts can be generated.
public enum Shell: String, CaseIterable, Sendable {
  /// GNU Bash 4 or later.
  case bash
  /// The Z shell.
  case zsh
  /// The friendly interactive shell.
  case fish

  /// The completion of an operand that takes the name of a shell.
  public static let completion = Completion.words(allCases.map(\.rawValue))

  /// Returns the completion script of a program for the shell, without the last newline.
  ///
  /// ``Invocation/printCompletions()`` prints it.
  ///
  /// - Parameter commands: the commands of the program.
  public func script<Command: ProgramCommand>(for commands: Command.Type) -> String {
    switch self {
    case .bash: BashCompletion<Command>().script
    case .zsh: ZshCompletion<Command>().script
    case .fish: FishCompletion<Command>().script
    }
  }
}

extension ProgramOption {
  /// The forms of the option on the command line: `-l`, `--long`.
  var words: [String] { (letter.map { ["-\($0)"] } ?? []) + [name] }
}

extension String {
  /// The string escaped for use inside single quotes of a shell.
  var quoted: String { replacing("'", with: #"'\''"#) }
}

extension ProgramCommand {
  /// The names of all commands, separated by spaces.
  static var names: String { allCases.map(\.rawValue).joined(separator: " ") }

  /// The options to offer before a command is typed.
  static var leadingOptions: [Option] { program.commonOptions + [.version] }

  /// The environment assignment in front of the lister's command, with a trailing space; empty if there is none.
  static var listerEnvironment: String { program.lister?.environment.map { $0 + " " } ?? "" }

  /// Whether the command takes its scope as its first operand, so that words are listed from there.
  var hasScopeOperand: Bool {
    syntax.operands.first?.completion == .locations && syntax.options.contains { $0.value?.completion == .listed }
  }

  /// Returns whether an operand of any command has the given completion.
  static func takes(_ completion: Completion) -> Bool {
    allCases.contains { $0.syntax.operands.contains { $0.completion == completion } }
  }
}
