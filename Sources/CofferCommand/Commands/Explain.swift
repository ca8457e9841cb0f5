import Coffer

/// `coffer help`: explains a command, or all of them.
func explain(_ invocation: Invocation) throws -> ExitStatus {
  let output = Output.standard
  let help = Help(style: output.style)
  if let word = invocation.operands.first {
    try output.write(help.text(for: Command.named(word.argument.text)))
  } else {
    try output.write(help.overview)
  }
  try output.flush()
  return .ok
}

/// `coffer version`
func printVersion(_ invocation: Invocation) throws -> ExitStatus {
  if invocation.has(.json) {
    try print(.object([("name", .text("coffer")), ("version", .text(CofferCommand.version))]))
  } else {
    try printLine("coffer \(CofferCommand.version)")
  }
  return .ok
}

/// `coffer completions`: prints a script for a shell.
func printCompletions(_ invocation: Invocation) throws -> ExitStatus {
  let word = invocation.operands.first?.argument.text ?? ""
  guard let shell = Shell(rawValue: word) else {
    let names = Shell.allCases.map(\.rawValue)
    let hint = suggestion(for: word, among: names).map { " Did you mean '\($0)'?" } ?? ""
    throw UsageError("There are completions for \(names.joined(separator: ", ")).\(hint)", .completions)
  }
  try printLine(shell.script)
  return .ok
}

/// Prints one line of JSON.
func print(_ json: JSON) throws { try printLine(json.line) }

/// Prints a line; unlike Swift's own, it notices when that fails.
func printLine(_ text: String) throws {
  let output = Output.standard
  try output.writeLine(text)
  try output.flush()
}
