/// What a command takes and what its help says.
///
/// ```swift
/// Syntax(
///   summary: "remove notes",
///   operands: [.init(name: "NAME", completion: .listed, summary: "the notes to remove", repeats: true)],
///   options: [.yes, .json],
///   details: ["A note that does not exist is no error."],
///   examples: [.init("notes remove today", "remove one"), .init("notes remove --yes a b", "without asking")],
///   aliases: ["rm", "delete"])
/// ```
public struct Syntax<Option: ProgramOption>: Sendable {
  /// What the command does, in one line for help and completions: a lower-case clause without a full stop.
  public let summary: String
  /// The operands, in their order. Required ones come first, and only the last may repeat.
  public let operands: [Operand]
  /// The options that the command takes, without `--help`, which every command takes.
  public let options: [Option]
  /// The paragraphs of the command's help, in lines that fit a terminal: help is never wrapped.
  public let details: [String]
  /// Command lines that show how the command is used.
  public let examples: [Example]
  /// What other tools call the command, in lower case. They are no names of it: "did you mean" answers them.
  public let aliases: [String]

  /// Creates the syntax of a command.
  ///
  /// - Parameters:
  ///   - summary: what the command does, as a lower-case clause.
  ///   - operands: the operands, required ones first. Only the last may repeat.
  ///   - options: the options, without `--help`.
  ///   - details: paragraphs for the command's help.
  ///   - examples: command lines that show how the command is used. The overview shows the first.
  ///   - aliases: what other tools call the command, in lower case.
  public init(
    summary: String, operands: [Operand] = [], options: [Option] = [], details: [String] = [], examples: [Example],
    aliases: [String] = []
  ) {
    self.summary = summary
    self.operands = operands
    self.options = options
    self.details = details
    self.examples = examples
    self.aliases = aliases
  }

  /// All options, including those that every command takes.
  package var allOptions: [Option] { options + [.help] }

  /// An operand of a command, or several where it repeats.
  public struct Operand: Sendable {
    /// The placeholder in help and in errors, such as `FILE`.
    public let name: String
    /// What a shell offers for the operand. bash and fish complete only by the first operand of a command.
    public let completion: Completion
    /// What the operand is, in one line for help: a lower-case clause.
    public let summary: String
    /// Whether the command needs it.
    public let isRequired: Bool
    /// Whether it may be given more than once.
    public let repeats: Bool
    /// Whether it is data, which may be a secret and may begin with a dash: no error repeats it.
    public let isValue: Bool

    /// Creates an operand.
    ///
    /// - Parameters:
    ///   - name: the placeholder in help and in errors, by custom in capital letters.
    ///   - completion: what a shell offers for it.
    ///   - summary: what it is, as a lower-case clause.
    ///   - isRequired: whether the command needs it.
    ///   - repeats: whether it may be given more than once, which only the last operand may.
    ///   - isValue: whether it is data, which no error may repeat.
    public init(
      name: String, completion: Completion = .nothing, summary: String, isRequired: Bool = false, repeats: Bool = false,
      isValue: Bool = false
    ) {
      self.name = name
      self.completion = completion
      self.summary = summary
      self.isRequired = isRequired
      self.repeats = repeats
      self.isValue = isValue
    }
  }

  /// A command line that works as it stands, and what it is for.
  public struct Example: Sendable {
    /// The line to type, including the program's name.
    public let line: String
    /// What it is for: a lower-case clause that help shows behind `#`.
    public let purpose: String

    /// Creates an example from a command line and what it is for.
    public init(_ line: String, _ purpose: String) {
      self.line = line
      self.purpose = purpose
    }
  }
}
