import Coffer

/// What was typed, understood: a command with its options and operands.
struct Invocation: Equatable, Sendable {
  struct Operand: Equatable, Sendable {
    let argument: Argument
    /// Whether it came after `--`, where a dash means nothing.
    let isLiteral: Bool
  }

  let command: Command
  private(set) var options: [Option: String] = [:]
  private(set) var operands: [Operand] = []

  init(_ command: Command, options: [Option: String] = [:], operands: [Operand] = []) {
    self.command = command
    self.options = options
    self.operands = operands
  }

  func has(_ option: Option) -> Bool { options[option] != nil }

  /// Every operand as a key.
  func keys() throws -> [Key] {
    try operands.map { operand in
      guard let text = operand.argument.text else { throw UsageError("The KEY is not valid UTF-8.", command) }
      return try makeKey(text)
    }
  }

  /// Every operand as a store's location.
  func locations() throws -> [StoreLocation] {
    try operands.enumerated().map { index, operand in
      let known = command.syntax.operands
      let name = known[min(index, known.count - 1)].name  // the last one may repeat
      guard let text = operand.argument.text else { throw UsageError("\(name) is not valid UTF-8.", command) }
      guard !text.isEmpty else { throw UsageError("\(name) is empty: \(command.usage).", command) }
      return try StoreLocation(parsing: text)
    }
  }

  /// The operand as a prefix; `nil` where there is none, or an empty one.
  func prefix() throws -> Key? {
    if let operand = operands.first, operand.argument.bytes.isEmpty { return nil }
    return try keys().first
  }

  /// What is wrong with a key is wrong with the command line.
  func makeKey(_ text: String) throws -> Key {
    do { return try Key(text) } catch let error as StorageError { throw UsageError(error.description, command) }
  }

  /// An option whose value is a whole number of at least `minimum`.
  func number(_ option: Option, minimum: UInt64) throws -> UInt64? {
    guard let text = options[option] else { return nil }
    guard let number = UInt64(text), number >= minimum else {
      let isTooLarge = UInt64(text) == nil && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      let limits = "of at least \(minimum)\(isTooLarge ? " and at most \(UInt64.max)" : "")"
      throw UsageError(
        "\(option.name) takes a whole number \(limits): \(option.name) \(max(minimum, 10)).", command)
    }
    return number
  }
}

/// Something is wrong with what was typed. It never repeats a value, which may be a secret.
struct UsageError: Error, Equatable {
  let message: String
  let command: Command?

  init(_ message: String, _ command: Command? = nil) {
    self.message = message
    self.command = command
  }

  /// Where to read more.
  var advice: String { "Try 'coffer help\(command.map { " \($0.rawValue)" } ?? "")'." }
}
