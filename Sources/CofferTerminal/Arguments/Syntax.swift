/// The operands and options of a command, and the text of its help.
///
/// ```swift
/// Syntax(
///   summary: "remove notes",
///   operands: [.init(name: "NAME", completion: .listed, summary: "the notes to remove", repeats: true)],
///   options: [.yes, .json],
///   details: ["Removing a note that does not exist is not an error."],
///   examples: [.init("notes remove today", "remove one"), .init("notes remove --yes a b", "without asking")],
///   aliases: ["rm", "delete"])
/// ```
public struct Syntax<Option: ProgramOption>: Sendable {
  /// The effect of the command, in one line for help and completions: a lower-case clause without a full stop.
  public let summary: String
  /// The operands, in their order. Required ones come first, and only the last may repeat.
  public let operands: [Operand]
  /// The options that the command takes, without `--help`, which every command takes.
  public let options: [Option]
  /// The paragraphs of the command's help, in lines that fit a terminal, since help is not wrapped.
  public let details: [String]
  /// Command lines that show how the command is used.
  public let examples: [Example]
  /// The names of the command in other tools, in lower case. They are not accepted, but suggestions use them.
  public let aliases: [String]

  /// Creates the syntax of a command.
  ///
  /// - Parameters:
  ///   - summary: what the command does, as a lower-case clause.
  ///   - operands: the operands, required ones first. Only the last may repeat.
  ///   - options: the options, without `--help`.
  ///   - details: paragraphs for the command's help.
  ///   - examples: command lines that show how the command is used. The overview shows the first.
  ///   - aliases: the names of the command in other tools, in lower case.
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

  /// An operand of a command, or several if it repeats.
  public struct Operand: Sendable {
    /// The placeholder in help and in errors, such as `FILE`.
    public let name: String
    /// The candidates that a shell offers for the operand. Only those of the first operand are used.
    public let completion: Completion
    /// The meaning of the operand, in one line for help: a lower-case clause.
    public let summary: String
    /// Whether the command requires the operand.
    public let isRequired: Bool
    /// Whether the operand may be given more than once.
    public let repeats: Bool
    /// Whether the operand is data, which may be a secret and may begin with a dash. Errors never repeat it.
    public let isValue: Bool

    /// Creates an operand.
    ///
    /// - Parameters:
    ///   - name: the placeholder in help and in errors, by convention in capital letters.
    ///   - completion: the candidates that a shell offers for it.
    ///   - summary: the meaning of the operand, as a lower-case clause.
    ///   - isRequired: whether the command requires it.
    ///   - repeats: whether it may be given more than once. Only the last operand may repeat.
    ///   - isValue: whether it is data, which errors must not repeat.
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

  /// A complete command line with its purpose.
  public struct Example: Sendable {
    /// The command line, including the program's name.
    public let line: String
    /// The purpose of the command line: a lower-case clause that help shows after `#`.
    public let purpose: String

    /// Creates an example from a command line and its purpose.
    public init(_ line: String, _ purpose: String) {
      self.line = line
      self.purpose = purpose
    }
  }
}
