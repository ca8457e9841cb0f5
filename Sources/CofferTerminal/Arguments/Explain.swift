/// The commands that every program has. They use nothing but the table of commands.
extension Invocation {
  /// Performs `help`: prints the help of the command that the first operand names, or the overview without one.
  ///
  /// - Returns: ``ExitStatus/ok``.
  /// - Throws: ``UsageError`` if there is no such command, and what ``Output`` throws.
  public func explain() throws -> ExitStatus {
    let output = Output.standard
    let help = Help<Command>(style: output.style)
    if let word = operands.first {
      try output.write(help.text(for: Command.named(word.argument.text)))
    } else {
      try output.write(help.overview)
    }
    try output.flush()
    return .ok
  }

  /// Performs `version`: prints the program's name and version on one line, as JSON if `--json` was given.
  ///
  /// - Returns: ``ExitStatus/ok``.
  /// - Throws: What ``Output`` throws.
  public func printVersion() throws -> ExitStatus {
    let program = Command.program
    if has(.json) {
      try printLine(JSON.object([("name", .text(program.name)), ("version", .text(program.version))]).line)
    } else {
      try printLine("\(program.name) \(program.version)")
    }
    return .ok
  }

  /// Performs `completions`: prints the completion script of the ``Shell`` that the first operand names.
  ///
  /// - Returns: ``ExitStatus/ok``.
  /// - Throws: ``UsageError`` if the shell is not supported, and what ``Output`` throws.
  public func printCompletions() throws -> ExitStatus {
    let word = operands.first?.argument.text ?? ""
    guard let shell = Shell(rawValue: word) else {
      let names = Shell.allCases.map(\.rawValue)
      let hint = suggestion(for: word, among: names).map { " Did you mean '\($0)'?" } ?? ""
      throw Command.mistake("Completions exist for \(names.joined(separator: ", ")).\(hint)", .completions)
    }
    try printLine(shell.script(for: Command.self))
    return .ok
  }
}
