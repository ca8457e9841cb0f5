/// What help, errors and completions say of a program as a whole.
package struct Program<Command: ProgramCommand>: Sendable {
  /// The word that starts it.
  package let name: String
  package let version: String
  /// One sentence.
  package let purpose: String
  /// What is done where no command is named; `nil` shows the overview on standard error, with status 2.
  package let defaultCommand: Command?
  /// What most commands take, for the overview, and for completions where no command is typed yet.
  package let commonOptions: [Command.Option]
  /// Commands whose first example the overview shows.
  package let introduction: [Command]
  /// What may begin with a dash and so needs `--` before it: "a key or value".
  package let dashed: String
  package let sections: [HelpSection]
  /// What completions offer for ``Completion/listed``.
  package let lister: Lister<Command.Option>?
  /// What an error in JSON tells of besides itself.
  package let subjects: [CommandError.Subject]
  /// What a status means here; empty for one that the program never ends with.
  package let meaning: @Sendable (ExitStatus) -> String
  /// Makes sentences of the program's own errors; `nil` for those that it does not know.
  package let explanation: @Sendable (any Error) -> CommandError?

  package init(
    name: String, version: String, purpose: String, defaultCommand: Command? = nil,
    commonOptions: [Command.Option] = [.json, .help], introduction: [Command], dashed: String = "an argument",
    sections: [HelpSection] = [], lister: Lister<Command.Option>? = nil,
    subjects: [CommandError.Subject] = [], meaning: @escaping @Sendable (ExitStatus) -> String = \.defaultMeaning,
    explanation: @escaping @Sendable (any Error) -> CommandError? = { _ in nil }
  ) {
    self.name = name
    self.version = version
    self.purpose = purpose
    self.defaultCommand = defaultCommand
    self.commonOptions = commonOptions
    self.introduction = introduction
    self.dashed = dashed
    self.sections = sections
    self.lister = lister
    self.subjects = subjects
    self.meaning = meaning
    self.explanation = explanation
  }
}

/// A part of the overview that only one program has.
package struct HelpSection: Sendable {
  package let heading: String
  /// Lines that fit a terminal.
  package let text: String
  /// Below the text, in two columns.
  package let rows: [(String, String)]

  package init(heading: String, text: String, rows: [(String, String)] = []) {
    self.heading = heading
    self.text = text
    self.rows = rows
  }
}
