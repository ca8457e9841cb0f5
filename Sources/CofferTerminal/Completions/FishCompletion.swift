/// The generator of the completion script for fish.
struct FishCompletion<Command: ProgramCommand> {
  private let program = Command.program
  private var name: String { program.name }

  var script: String {
    let without = "not __fish_seen_subcommand_from \(Command.names)"
    var lines = [
      "# Completions of \(name) for fish: \(name) completions fish > \(name).fish, in ~/.config/fish/completions", "",
    ]
    if let lister = program.lister { lines += [function(lister), ""] }
    lines.append("complete -c \(name) -f")
    for command in Command.allCases {
      let summary = command.syntax.summary.quoted
      lines.append("complete -c \(name) -n '\(without)' -a \(command.rawValue) -d '\(summary)'")
    }
    lines += Command.leadingOptions.map { line($0, condition: without) }
    for command in Command.allCases {
      let condition = "__fish_seen_subcommand_from \(command.rawValue)"
      lines += command.syntax.operands.prefix(1).map { operand($0.completion, condition) }
      lines += command.syntax.allOptions.map { line($0, condition: condition) }
    }
    return lines.joined(separator: "\n")
  }

  private func function(_ lister: Lister<Command.Option>) -> String {
    let environment = lister.environment == nil ? "" : "env \(Command.listerEnvironment)"
    guard let scope = lister.scope else {
      return """
        # Lists the \(lister.items) of \(name).
        function __\(name)_\(lister.items)
          set -l words (commandline -opc)
          \(environment)$words[1] \(lister.command) -- (commandline -ct) 2>/dev/null | string split0
        end
        """
    }
    let variable = scope.rawValue
    return """
      # Lists the \(lister.items) of the \(variable) on the command line.
      function __\(name)_\(lister.items)
        set -l words (commandline -opc)
        set -l \(variable)
        if set -l index (contains -i -- \(scope.name) $words)
          set -l value (math $index + 1)
          set -q words[$value]; and set \(variable) \(scope.name) $words[$value]
        end
        \(environment)$words[1] \(lister.command) $\(variable) -- (commandline -ct) 2>/dev/null | string split0
      end
      """
  }

  /// Returns the argument of `-a` that produces the candidates.
  private func source(_ completion: Completion) -> String {
    switch completion {
    case .listed: program.lister.map { "(__\(name)_\($0.items))" } ?? ""
    case .words(let words): words.joined(separator: " ")
    case .commands: Command.names
    case .nothing, .files, .locations: ""
    }
  }

  private func operand(_ completion: Completion, _ condition: String) -> String {
    if [.locations, .files].contains(completion) { return "complete -c \(name) -n '\(condition)' -F" }
    return "complete -c \(name) -n '\(condition)' -a '\(source(completion))'"
  }

  private func line(_ option: Command.Option, condition: String) -> String {
    let letter = option.letter.map { " -s \($0)" } ?? ""
    let value =
      switch option.value?.completion {
      case .files, .locations: " -r -F"
      case .listed, .words, .commands: " -x -a '\(option.value.map { source($0.completion) } ?? "")'"
      case .nothing: " -x"
      case nil: ""
      }
    return "complete -c \(name) -n '\(condition)' -l \(option.rawValue)\(letter)\(value) -d '\(option.summary.quoted)'"
  }
}
