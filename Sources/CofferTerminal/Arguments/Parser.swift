extension Invocation {
  /// Parses the arguments of a process, without its name.
  ///
  /// - Parameter arguments: the arguments as text.
  /// - Throws: ``CommandError`` if the command, an option, a value or an operand is unknown, missing or surplus.
  public init(parsing arguments: [String]) throws { try self.init(parsingBytes: arguments.map { Array($0.utf8) }) }

  /// Parses the arguments of a process, without its name.
  ///
  /// The first operand names the command. Options may precede and follow it: `--name VALUE`, `--name=VALUE`, or
  /// letters, several of which may share one dash. Everything after `--` is an operand, and so is `-`. `--help`
  /// becomes the command `help`, and `--version` the command `version`.
  ///
  /// - Parameter arguments: the arguments, of which values and file names may be any bytes but NUL.
  /// - Throws: ``CommandError`` if the command, an option, a value or an operand is unknown, missing or surplus. Its
  ///   message suggests similar names.
  package init(parsingBytes arguments: [[UInt8]]) throws {
    var parser = Parser<Command>(arguments)
    self = try parser.parse()
  }
}

private struct Parser<Command: ProgramCommand> {
  private typealias Option = Command.Option

  private var rest: ArraySlice<[UInt8]>
  private var command: Command?
  private var options: [Option: String] = [:]
  private var repeated: [Option: [String]] = [:]
  private var operands: [Invocation<Command>.Operand] = []

  init(_ arguments: [[UInt8]]) { rest = arguments[...] }

  mutating func parse() throws -> Invocation<Command> {
    var onlyOperands = false
    while let argument = rest.popFirst() {
      // An argument that is not valid UTF-8 cannot be an option, but it can be a value.
      guard !onlyOperands, let text = String(validating: argument, as: UTF8.self), text.utf8.first == UInt8(ascii: "-"),
        text.utf8.count > 1
      else {
        try take(argument, isLiteral: onlyOperands)
        continue
      }
      if text == "--" {
        onlyOperands = true
      } else if text.utf8.starts(with: "--".utf8) {
        try takeLong(text)
      } else {
        try takeShort(text)
      }
    }
    return try finish()
  }

  private mutating func take(_ argument: [UInt8], isLiteral: Bool) throws {
    if command != nil {
      operands.append(Invocation<Command>.Operand(bytes: argument, isLiteral: isLiteral))
    } else {
      command = try Command.named(String(validating: argument, as: UTF8.self))
    }
  }

  private mutating func takeLong(_ text: String) throws {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let option = Option.allCases.first(where: { $0.name == parts[0] }) else { throw unknownOption(parts[0]) }
    if parts.count == 2 {
      guard option.value != nil else { throw Command.mistake("\(option.name) takes no value.", command) }
      try add(option, parts[1])
    } else {
      try add(option, try valueFromNext(of: option))
    }
  }

  private mutating func takeShort(_ text: String) throws {
    for letter in text.dropFirst() {
      guard let option = Option.allCases.first(where: { $0.letter == letter }) else { throw unknownOption(text) }
      try add(option, "")
    }
  }

  private mutating func valueFromNext(of option: Option) throws -> String {
    guard let value = option.value else { return "" }
    guard let argument = rest.popFirst() else {
      throw Command.mistake("\(option.name) needs a value: \(option.name) \(value.name).", command)
    }
    guard let text = String(validating: argument, as: UTF8.self) else {
      throw Command.mistake("The value of \(option.name) is not valid UTF-8.", command)
    }
    return text
  }

  private mutating func add(_ option: Option, _ value: String) throws {
    if option.value != nil, value.isEmpty {
      throw Command.mistake("\(option.name) needs a value that is not empty.", command)
    }
    if let earlier = options[option] { repeated[option, default: [earlier]].append(value) }
    options[option] = value
    if let command { try check(option, for: command) }
  }

  private func check(_ option: Option, for command: Command) throws {
    guard !command.syntax.allOptions.contains(option), option != .version else { return }
    let takers = Command.allCases.filter { $0.syntax.options.contains(option) }.map(\.rawValue)
    let verb = takers.count == 1 ? "has" : "have"
    throw Command.mistake(
      "'\(command.rawValue)' has no option \(option.name); \(takers.joined(separator: ", ")) \(verb).", command)
  }

  /// Returns an error whose message does not repeat a word that may be a secret value: `coffer set key -secret`.
  private func unknownOption(_ text: String) -> CommandError {
    let known = command?.syntax.allOptions ?? Option.allCases
    if let close = suggestion(for: text, among: known.map(\.name)) {
      return Command.mistake("There is no option '\(text.oneLine(limit: 40))'. Did you mean '\(close)'?", command)
    }
    let mayBeValue = command?.syntax.operands.contains(where: \.isValue) ?? false || text.utf8.count > 40
    let what = mayBeValue ? "An argument starts with '-' and is no option" : "There is no option '\(text.oneLine())'"
    return Command.mistake("\(what): put -- before \(Command.program.dashed) that starts with a dash.", command)
  }

  private mutating func finish() throws -> Invocation<Command> {
    if options[.version] != nil { return Invocation(.version, options: options) }
    if options[.help] != nil {
      let words = command.map { [Invocation<Command>.Operand(bytes: Array($0.rawValue.utf8), isLiteral: true)] }
      return Invocation(.help, operands: words ?? [])
    }
    guard let command = command ?? Command.program.defaultCommand else {
      throw Command.mistake("Name a command: \(Command.program.name) COMMAND.")
    }
    for option in options.keys.sorted(by: { $0.rawValue < $1.rawValue }) { try check(option, for: command) }
    let allowed = command.syntax.operands
    if operands.count > allowed.count, allowed.last?.repeats != true { throw tooMany(command) }
    if let missing = allowed.dropFirst(operands.count).first(where: \.isRequired) {
      throw Command.mistake("'\(command.rawValue)' needs \(missing.name.withArticle): \(command.usage).", command)
    }
    return Invocation(command, options: options, repeated: repeated, operands: operands)
  }

  private func tooMany(_ command: Command) -> CommandError {
    let most = command.syntax.operands.count
    let limit = most == 0 ? "no arguments" : most == 1 ? "one argument" : "\(most) arguments"
    let hint = most == 0 ? "" : " Quote a value that contains spaces."
    return Command.mistake(
      "'\(command.rawValue)' takes \(limit), not \(operands.count): \(command.usage).\(hint)", command)
  }
}

extension ProgramCommand {
  /// Returns the command with the given name.
  ///
  /// - Throws: ``CommandError`` if there is none.
  static func named(_ word: String?) throws -> Self {
    if let command = word.flatMap(Self.init(rawValue:)) { return command }
    let shown = word?.oneLine(limit: 40) ?? "?"
    if let close = closest(to: word ?? "") {
      throw mistake("There is no command '\(shown)'. Did you mean '\(close.rawValue)'?")
    }
    let all = allCases.map(\.rawValue).joined(separator: ", ")
    throw mistake("There is no command '\(shown)'. The commands are \(all).")
  }

  private static func closest(to word: String) -> Self? {
    if let command = allCases.first(where: { $0.syntax.aliases.contains(word.lowercased()) }) { return command }
    return suggestion(for: word, among: allCases.map(\.rawValue)).flatMap(Self.init(rawValue:))
  }
}
