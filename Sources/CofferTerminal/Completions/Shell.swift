/// The shells that completion scripts are made for.
public enum Shell: String, CaseIterable, Sendable {
  /// GNU Bash 4 or later.
  case bash
  /// The Z shell.
  case zsh
  /// The friendly interactive shell.
  case fish

  /// The names of all shells, for an operand that takes one.
  public static let completion = Completion.words(allCases.map(\.rawValue))

  /// Returns the script that makes the shell complete a program, without the last line end.
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
  /// The option's names as a shell sees them: `-l`, `--long`.
  var words: [String] { (letter.map { ["-\($0)"] } ?? []) + [name] }
}

extension String {
  /// For the inside of single quotes.
  var quoted: String { replacing("'", with: #"'\''"#) }
}

extension ProgramCommand {
  /// The names of all commands.
  static var names: String { allCases.map(\.rawValue).joined(separator: " ") }

  /// What can be offered before a command is typed.
  static var leadingOptions: [Option] { program.commonOptions + [.version] }

  /// What is typed in front of a lister's command, with the blank after it.
  static var listerEnvironment: String { program.lister?.environment.map { $0 + " " } ?? "" }

  /// Whether a command takes its scope as an operand, so that what is listed comes from there.
  var hasScopeOperand: Bool {
    syntax.operands.first?.completion == .locations && syntax.options.contains { $0.value?.completion == .listed }
  }

  /// Whether an operand of any command is of a kind.
  static func takes(_ completion: Completion) -> Bool {
    allCases.contains { $0.syntax.operands.contains { $0.completion == completion } }
  }
}
