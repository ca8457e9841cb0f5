/// Completions for fish, from the table.
struct FishCompletion {
  var script: String {
    let all = Command.allCases.map(\.rawValue).joined(separator: " ")
    let without = "not __fish_seen_subcommand_from \(all)"
    var lines = [
      "# Completions of coffer for fish: coffer completions fish > coffer.fish, in ~/.config/fish/completions",
      """

      # The keys of the store that is named on the line.
      function __coffer_keys
        set -l words (commandline -opc)
        set -l store
        if set -l index (contains -i -- --store $words)
          set -l value (math $index + 1)
          set -q words[$value]; and set store --store $words[$value]
        end
        env \(Passphrases.neverAsk) $words[1] ls -0 $store -- (commandline -ct) 2>/dev/null | string split0
      end

      complete -c coffer -f
      """,
    ]
    for command in Command.allCases {
      lines.append("complete -c coffer -n '\(without)' -a \(command.rawValue) -d '\(command.syntax.summary)'")
    }
    lines += [Option.store, .json, .help, .version].map { line($0, condition: without) }
    for command in Command.allCases {
      let condition = "__fish_seen_subcommand_from \(command.rawValue)"
      lines += command.syntax.operands.prefix(1).map { operand($0.kind, condition) }
      lines += command.syntax.allOptions.map { line($0, condition: condition) }
    }
    return lines.joined(separator: "\n")
  }

  private func operand(_ kind: Syntax.OperandKind, _ condition: String) -> String {
    if kind == .store { return "complete -c coffer -n '\(condition)' -F" }
    let words =
      switch kind {
      case .key: "(__coffer_keys)"
      case .value, .store: ""
      case .shell: Shell.allCases.map(\.rawValue).joined(separator: " ")
      case .command: Command.allCases.map(\.rawValue).joined(separator: " ")
      }
    return "complete -c coffer -n '\(condition)' -a '\(words)'"
  }

  private func line(_ option: Option, condition: String) -> String {
    let letter = option.letter.map { " -s \($0)" } ?? ""
    let value =
      switch option.value?.kind {
      case .path: " -r -F"
      case .key: " -x -a '(__coffer_keys)'"
      case .number: " -x"
      case .preferenceType: " -x -a '\(PreferenceType.words)'"
      case nil: ""
      }
    return "complete -c coffer -n '\(condition)' -l \(option.rawValue)\(letter)\(value) -d '\(option.summary)'"
  }
}
