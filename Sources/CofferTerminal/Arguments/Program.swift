/// The description of a program as a whole, for help, errors and completions.
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
  /// The purpose of the program, in one sentence: the first line of the overview.
  public let purpose: String
  /// The command to perform if none is named. If it is `nil`, the program without arguments prints the overview on
  /// standard error and exits with ``ExitStatus/usage``.
  public let defaultCommand: Command?
  /// The options that most commands take, for the overview, and for completions before a command is typed.
  public let commonOptions: [Command.Option]
  /// The commands whose first example the overview shows.
  public let introduction: [Command]
  /// The kind of operand that may begin with a dash and then needs `--` before it, for error messages:
  /// `a key or value`.
  public let dashed: String
  /// Additional sections of the overview that are specific to this program.
  public let sections: [HelpSection]
  /// The command that lists the candidates for ``Completion/listed``.
  public let lister: Lister<Command.Option>?
  /// The members that a JSON error has in addition to its code, message and advice.
  public let subjects: [CommandError.Subject]
  /// Returns the meaning of an exit status for the overview; empty for a status that the program never exits with.
  public let meaning: @Sendable (ExitStatus) -> String
  /// Converts the program's own errors. Returns `nil` for other errors, which ``CommandError/init(_:)`` converts.
  public let explanation: @Sendable (any Error) -> CommandError?

  /// Creates the description of a program.
  ///
  /// - Parameters:
  ///   - name: the word that starts the program.
  ///   - version: the version, such as `1.2.0`.
  ///   - purpose: the purpose of the program, in one sentence.
  ///   - defaultCommand: the command to perform if none is named.
  ///   - commonOptions: the options that most commands take.
  ///   - introduction: the commands whose first example the overview shows.
  ///   - dashed: the kind of operand that may begin with a dash, with an article, for error messages.
  ///   - sections: additional sections of the overview.
  ///   - lister: the command that lists candidates for completions.
  ///   - subjects: the members that a JSON error has in addition to its code, message and advice.
  ///   - meaning: returns the meaning of a status as a lower-case clause; empty if the program never exits with it.
  ///   - explanation: converts the program's own errors; returns `nil` for others.
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

/// An additional section of the overview.
public struct HelpSection: Sendable {
  /// The heading, without a colon.
  public let heading: String
  /// The paragraph below the heading, in lines that fit a terminal, since help is not wrapped.
  public let text: String
  /// The table below the paragraph, in two columns.
  public let rows: [(String, String)]

  /// Creates a section.
  ///
  /// - Parameters:
  ///   - heading: the heading, without a colon.
  ///   - text: one or more lines, each at most about 75 columns wide. They are indented by two spaces.
  ///   - rows: a table of two columns below the text.
  public init(heading: String, text: String, rows: [(String, String)] = []) {
    self.heading = heading
    self.text = text
    self.rows = rows
  }
}
