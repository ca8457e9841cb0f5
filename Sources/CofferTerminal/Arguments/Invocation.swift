/// A parsed command line: a command with its options and operands.
///
/// ```swift
/// func list(_ invocation: Invocation<Command>) throws -> ExitStatus {
///   let limit = try invocation.number(.limit, minimum: 1) ?? 50
///   let prefix = try invocation.text(at: 0) ?? ""
///   let names = allNames().filter { $0.hasPrefix(prefix) }.prefix(Int(clamping: limit))
///   if invocation.has(.json) {
///     try print(.list(names.map(JSON.text)))
///   } else {
///     for name in names { try printLine(name.oneLine()) }
///   }
///   return .ok
/// }
/// ```
///
/// A test of a command creates one from words: `try Invocation<Command>(parsing: ["list"])`.
public struct Invocation<Command: ProgramCommand>: Equatable, Sendable {
  /// An argument that is neither the command nor an option.
  public struct Operand: Equatable, Sendable {
    /// The bytes as they were typed, which `CommandLine.arguments` replaces where they are not valid UTF-8.
    public let bytes: [UInt8]
    /// Whether the operand followed `--`, so that a leading dash is part of it.
    public let isLiteral: Bool

    /// Creates an operand.
    ///
    /// - Parameters:
    ///   - bytes: the bytes, which may be any but NUL.
    ///   - isLiteral: whether it followed `--`.
    public init(bytes: [UInt8], isLiteral: Bool = false) {
      self.bytes = bytes
      self.isLiteral = isLiteral
    }

    /// The operand as text; `nil` if it is not valid UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    /// Whether it stands for standard input, by convention: `-`, but not `-- -`.
    public var isStandardInput: Bool { bytes == Array("-".utf8) && !isLiteral }
  }

  /// The command to perform.
  public let command: Command
  /// The options that were given, each with its last value; the value of a switch is an empty string.
  public private(set) var options: [Command.Option: String] = [:]
  /// All values of the options that were given more than once, in the order of the command line.
  private var repeated: [Command.Option: [String]] = [:]
  /// The operands, in the order of the command line.
  public private(set) var operands: [Operand] = []

  /// Creates an invocation without checking it against the command's ``Syntax``.
  ///
  /// - Parameters:
  ///   - command: the command to perform.
  ///   - options: the options, each with its last value; the value of a switch is an empty string.
  ///   - repeated: all values of the options that are given more than once. These options are also in `options`.
  ///   - operands: the operands.
  public init(
    _ command: Command, options: [Command.Option: String] = [:], repeated: [Command.Option: [String]] = [:],
    operands: [Operand] = []
  ) {
    self.repeated = repeated
    self.command = command
    self.options = options
    self.operands = operands
  }

  /// Returns whether an option was given.
  public func has(_ option: Command.Option) -> Bool { options[option] != nil }

  /// Returns every value of an option that may be given more than once, in the order of the command line.
  public func values(_ option: Command.Option) -> [String] {
    repeated[option] ?? options[option].map { [$0] } ?? []
  }

  /// Returns every operand as text.
  ///
  /// - Throws: ``CommandError`` for the first operand that is not valid UTF-8.
  public func texts() throws -> [String] { try operands.indices.compactMap { try text(at: $0) } }

  /// Returns an operand as text, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - index: the index of the operand; the first is 0.
  ///   - name: the subject of the error message; the placeholder that help shows by default.
  /// - Throws: ``CommandError`` if the operand is not valid UTF-8.
  public func text(at index: Int, as name: String? = nil) throws -> String? {
    guard operands.indices.contains(index) else { return nil }
    if let text = operands[index].text { return text }
    throw Command.mistake("\(name ?? operandName(at: index)) is not valid UTF-8.", command)
  }

  /// Returns the placeholder of an operand in help. That of the last operand also applies to its repetitions.
  package func operandName(at index: Int) -> String {
    let known = command.syntax.operands
    return known.indices.contains(index) ? known[index].name : known.last?.name ?? "The argument"
  }

  /// Returns the value of an option that takes a whole number, or `nil` if the option was not given.
  ///
  /// - Parameters:
  ///   - option: the option to read.
  ///   - minimum: the smallest number that is allowed.
  /// - Throws: ``CommandError`` if the value is not an unsigned 64-bit number, or is smaller than `minimum`.
  public func number(_ option: Command.Option, minimum: UInt64) throws -> UInt64? {
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
