/// The commands that every program has. They read nothing but the table.
extension Invocation {
  /// `help`: explains a command, or all of them.
  package func explain() throws -> ExitStatus {
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

  /// `version`
  package func printVersion() throws -> ExitStatus {
    let program = Command.program
    if has(.json) {
      try printLine(JSON.object([("name", .text(program.name)), ("version", .text(program.version))]).line)
    } else {
      try printLine("\(program.name) \(program.version)")
    }
    return .ok
  }

  /// `completions`: prints a script for a shell.
  package func printCompletions() throws -> ExitStatus {
    let word = operands.first?.argument.text ?? ""
    guard let shell = Shell(rawValue: word) else {
      let names = Shell.allCases.map(\.rawValue)
      let hint = suggestion(for: word, among: names).map { " Did you mean '\($0)'?" } ?? ""
      throw Command.mistake("There are completions for \(names.joined(separator: ", ")).\(hint)", .completions)
    }
    try printLine(shell.script(for: Command.self))
    return .ok
  }
}
