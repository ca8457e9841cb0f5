/// What a shell offers for an operand, or for the value of an option.
package enum Completion: Hashable, Sendable {
  case nothing
  case files
  /// Files, also after a scheme: `sqlite:app.db`.
  case locations
  case words([String])
  /// The names of the program's commands.
  case commands
  /// What the program itself lists: see ``Lister``.
  case listed
}

/// A command of the program that lists what can be typed, each ended by a NUL byte.
package struct Lister<Option: ProgramOption>: Sendable {
  /// "key": one of them.
  package let item: String
  /// `ls -0`: what has to be typed. The beginning of the word comes after it and `--`.
  package let command: String
  /// The option that says where they are, which is passed on.
  package let scope: Option?
  /// `COFFER_NEVER_ASK=1`: an assignment that keeps the program from asking in the middle of a line.
  package let environment: String?

  package init(item: String, command: String, scope: Option? = nil, environment: String? = nil) {
    self.item = item
    self.command = command
    self.scope = scope
    self.environment = environment
  }

  /// "keys": all of them.
  var items: String { item + "s" }
}
