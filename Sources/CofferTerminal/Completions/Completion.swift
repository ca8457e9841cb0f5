/// The candidates that a shell offers for an operand or for the value of an option.
public enum Completion: Hashable, Sendable {
  /// No candidates, for arbitrary text.
  case nothing
  /// The names of files and directories.
  case files
  /// The names of files, also after a scheme: `sqlite:app.db`.
  case locations
  /// A fixed list of words, without blanks or quotes in them.
  case words([String])
  /// The names of the program's commands.
  case commands
  /// The words that the program itself lists: see ``Lister``.
  case listed
}

/// A command of the program that lists candidates for completions.
///
/// ```swift
/// Lister(item: "note", command: "list -0", scope: .folder)
/// ```
///
/// When the Tab key is pressed after `notes show --folder Work to`, the shell runs `notes list -0 --folder Work -- to`
/// and offers the words in its output. The command must print the words that begin with `to`, each terminated by a NUL
/// byte. Its standard error is discarded.
public struct Lister<Option: ProgramOption>: Sendable {
  /// The noun for one of the words, such as `note`. It becomes the name of a shell variable.
  public let item: String
  /// The command with its options, such as `list -0`. The beginning of the word follows it and `--`.
  public let command: String
  /// The option that selects where to look, which is passed to the command; `nil` if there is none. Its name becomes
  /// that of a shell variable.
  public let scope: Option?
  /// An environment assignment that prevents the program from prompting during completion, such as
  /// `NOTES_NEVER_ASK=1`; `nil` if it never prompts.
  public let environment: String?

  /// Creates a lister.
  ///
  /// - Parameters:
  ///   - item: the noun for one of the words, in the singular. Its plural is formed with an `s`.
  ///   - command: the command with its options.
  ///   - scope: the option that selects where to look.
  ///   - environment: an assignment of an environment variable for the command.
  public init(item: String, command: String, scope: Option? = nil, environment: String? = nil) {
    self.item = item
    self.command = command
    self.scope = scope
    self.environment = environment
  }

  /// The plural of ``item``, such as `keys`.
  var items: String { item + "s" }
}
