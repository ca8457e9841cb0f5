/// One command, declared as data.
package struct Syntax<Option: ProgramOption>: Sendable {
  package let summary: String
  package let operands: [Operand]
  package let options: [Option]
  /// Paragraphs for help, of lines that fit a terminal.
  package let details: [String]
  package let examples: [Example]
  /// What other tools call it, for "did you mean".
  package let aliases: [String]

  package init(
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

  /// All options, with those that every command takes.
  package var allOptions: [Option] { options + [.help] }

  package struct Operand: Sendable {
    package let name: String
    package let completion: Completion
    package let summary: String
    package let isRequired: Bool
    package let repeats: Bool
    /// Whether it is data, which may be a secret and may begin with a dash: no error repeats it.
    package let isValue: Bool

    package init(
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

  /// A line that works when it is typed, and what it is for.
  package struct Example: Sendable {
    package let line: String
    package let purpose: String

    package init(_ line: String, _ purpose: String) {
      self.line = line
      self.purpose = purpose
    }
  }
}
