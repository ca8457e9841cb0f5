/// What a shell offers for an operand, or for the value of an option.
public enum Completion: Hashable, Sendable {
  /// Nothing: it can be anything.
  case nothing
  /// Names of files and folders.
  case files
  /// Files, also after a scheme: `sqlite:app.db`.
  case locations
  /// Some fixed words, without blanks or quotes in them.
  case words([String])
  /// The names of the program's commands.
  case commands
  /// What the program itself lists: see ``Lister``.
  case listed
}

/// A command of the program that lists, for completions, the words that can be typed.
///
/// ```swift
/// Lister(item: "note", command: "list -0", scope: .folder)
/// ```
///
/// When somebody presses the tabulator key after `notes show --folder Work to`, the shell runs
/// `notes list -0 --folder Work -- to` and offers what that prints: words that begin with `to`, each ended by a NUL
/// byte. What it prints on standard error is not shown.
public struct Lister<Option: ProgramOption>: Sendable {
  /// The noun for one of the words, such as `note`. It becomes the name of a shell variable.
  public let item: String
  /// The command with its options, such as `list -0`. The beginning of the word follows it and `--`.
  public let command: String
  /// The option that says where to look, which is passed on; `nil` where there is none. Its name becomes that of a
  /// shell variable.
  public let scope: Option?
  /// An assignment that keeps the program from asking in the middle of a line, such as `NOTES_NEVER_ASK=1`; `nil` where
  /// it never asks.
  public let environment: String?

  /// Creates a lister.
  ///
  /// - Parameters:
  ///   - item: the noun for one of the words, in the singular; its plural is made with an `s`.
  ///   - command: the command with its options.
  ///   - scope: the option that says where to look.
  ///   - environment: an assignment of an environment variable for the command.
  public init(item: String, command: String, scope: Option? = nil, environment: String? = nil) {
    self.item = item
    self.command = command
    self.scope = scope
    self.environment = environment
  }

  /// "keys": all of them.
  var items: String { item + "s" }
}
