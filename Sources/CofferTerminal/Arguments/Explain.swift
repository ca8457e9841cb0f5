/// The commands that every program has. They use nothing but the table of commands.
extension Invocation {
  /// Performs `help`: prints the help of the command that the first operand names, or the overview without one.
  ///
  /// - Returns: ``ExitStatus/ok``.
  /// - Throws: ``CommandError`` if there is no such command, and what ``Output`` throws.
  public func explain() throws -> ExitStatus {
    let output = Output.standard
    let help = Help<Command>(style: output.style)
    if let word = operands.first {
      try output.write(help.text(for: Command.named(word.text)))
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

  /// Performs `completions`: prints the completion script for bash 4 or later.
  ///
  /// - Returns: ``ExitStatus/ok``.
  /// - Throws: What ``Output`` throws.
  public func printCompletions() throws -> ExitStatus {
    try printLine(Command.completionScript)
    return .ok
  }
}
