/// What was typed, understood: a command with its options and operands.
package struct Invocation<Command: ProgramCommand>: Equatable, Sendable {
  package struct Operand: Equatable, Sendable {
    package let argument: Argument
    /// Whether it came after `--`, where a dash means nothing.
    package let isLiteral: Bool
  }

  package let command: Command
  /// The last value of each option.
  package private(set) var options: [Command.Option: String] = [:]
  /// All values of the options that were given more than once, in their order.
  private var repeated: [Command.Option: [String]] = [:]
  package private(set) var operands: [Operand] = []

  package init(
    _ command: Command, options: [Command.Option: String] = [:], repeated: [Command.Option: [String]] = [:],
    operands: [Operand] = []
  ) {
    self.repeated = repeated
    self.command = command
    self.options = options
    self.operands = operands
  }

  package func has(_ option: Command.Option) -> Bool { options[option] != nil }

  /// Every value of an option that may be given more than once.
  package func values(_ option: Command.Option) -> [String] {
    repeated[option] ?? options[option].map { [$0] } ?? []
  }

  /// Every operand as text.
  package func texts() throws -> [String] { try operands.indices.compactMap { try text(at: $0) } }

  /// An operand as text; `nil` where there is none.
  ///
  /// - Parameter name: what an error calls it, unless by the name that help has.
  package func text(at index: Int, as name: String? = nil) throws -> String? {
    guard operands.indices.contains(index) else { return nil }
    if let text = operands[index].argument.text { return text }
    throw Command.mistake("\(name ?? operandName(at: index)) is not valid UTF-8.", command)
  }

  /// What help calls an operand. The last one may repeat.
  package func operandName(at index: Int) -> String {
    let known = command.syntax.operands
    return known.indices.contains(index) ? known[index].name : known.last?.name ?? "The argument"
  }

  /// An option whose value is a whole number of at least `minimum`.
  package func number(_ option: Command.Option, minimum: UInt64) throws -> UInt64? {
    guard let text = options[option] else { return nil }
    guard let number = UInt64(text), number >= minimum else {
      let isTooLarge = UInt64(text) == nil && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      let limits = "of at least \(minimum)\(isTooLarge ? " and at most \(UInt64.max)" : "")"
      throw Command.mistake(
        "\(option.name) takes a whole number \(limits): \(option.name) \(max(minimum, 10)).", command)
    }
    return number
  }
}
