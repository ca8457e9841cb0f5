/// What help, errors and completions say of a program as a whole.
///
/// Every program has one, as the static property ``ProgramCommand/program`` of its commands:
///
/// ```swift
/// static let program = Program<Command>(
///   name: "notes", version: "1.2.0", purpose: "Keep notes.", defaultCommand: .list, introduction: [.add, .list],
///   lister: Lister(item: "note", command: "list -0"),
///   explanation: { error in
///     guard case NotesError.locked(let path) = error else { return nil }
///     return CommandError(.tryAgain, "locked", "'\(path.oneLine())' is in use.", advice: "Try again later.")
///   })
/// ```
public struct Program<Command: ProgramCommand>: Sendable {
  /// The word that starts the program.
  public let name: String
  /// The version, as `version` prints it.
  public let version: String
  /// What the program is for, in one sentence: the first line of the overview.
  public let purpose: String
  /// The command to perform where none is named. With `nil`, a program without arguments prints the overview on
  /// standard error and ends with ``ExitStatus/usage``.
  public let defaultCommand: Command?
  /// The options that most commands take, for the overview, and for completions where no command is typed yet.
  public let commonOptions: [Command.Option]
  /// The commands whose first example the overview shows.
  public let introduction: [Command]
  /// What may begin with a dash and so needs `--` before it, for error messages: `a key or value`.
  public let dashed: String
  /// The parts of the overview that only this program has.
  public let sections: [HelpSection]
  /// The command that lists what completions offer for ``Completion/listed``.
  public let lister: Lister<Command.Option>?
  /// The members that an error in JSON has besides its code, message and advice.
  public let subjects: [CommandError.Subject]
  /// Returns what a status means to this program, for the overview; empty for a status that it never ends with.
  public let meaning: @Sendable (ExitStatus) -> String
  /// Converts the program's own errors; `nil` for an error that it does not know, which ``CommandError/init(_:)``
  /// converts.
  public let explanation: @Sendable (any Error) -> CommandError?

  /// Creates the description of a program.
  ///
  /// - Parameters:
  ///   - name: the word that starts the program.
  ///   - version: the version, such as `1.2.0`.
  ///   - purpose: what the program is for, in one sentence.
  ///   - defaultCommand: the command to perform where none is named.
  ///   - commonOptions: the options that most commands take.
  ///   - introduction: the commands whose first example the overview shows.
  ///   - dashed: what may begin with a dash, with its article, for error messages.
  ///   - sections: parts of the overview that only this program has.
  ///   - lister: the command that lists what completions offer.
  ///   - subjects: the members that an error in JSON has besides its code, message and advice.
  ///   - meaning: returns what a status means, as a lower-case clause; empty for one that the program never ends with.
  ///   - explanation: converts the program's own errors; `nil` for those that it does not know.
  public init(
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
public struct HelpSection: Sendable {
  /// The heading, without a colon.
  public let heading: String
  /// The paragraph below the heading, in lines that fit a terminal: help is never wrapped.
  public let text: String
  /// The table below the paragraph, in two columns.
  public let rows: [(String, String)]

  /// Creates a section.
  ///
  /// - Parameters:
  ///   - heading: the heading, without a colon.
  ///   - text: one or more lines, each at most about 75 columns wide; two blanks of indentation are added.
  ///   - rows: a table of two columns below the text.
  public init(heading: String, text: String, rows: [(String, String)] = []) {
    self.heading = heading
    self.text = text
    self.rows = rows
  }
}
