/// Completions for zsh, from the table.
struct ZshCompletion {
  var script: String {
    """
    #compdef coffer
    # Completions of coffer for zsh: coffer completions zsh > _coffer, in a folder of $fpath

    # The keys of the store that is named on the line.
    _coffer_keys() {
      local -a keys
      local store=${opt_args[--store]}
      keys=(${(0)"$(\(Passphrases.neverAsk) $words[1] ls -0 ${store:+--store $store} -- "$PREFIX" 2>/dev/null)"})
      compadd -a keys
    }

    # Files, after sqlite: too.
    _coffer_stores() {
      compset -P '[a-z]*:'
      _files
    }

    _coffer() {
      local context state line ret=1
      local -A opt_args
      local -a commands
      commands=(
    \(Command.allCases.map { "    '\($0.rawValue):\($0.syntax.summary)'" }.joined(separator: "\n"))
      )
      local program=$words[1]
      _arguments -C \\
    \([Option.store, .json, .help, .version].map { "    \(argument($0)) \\" }.joined(separator: "\n"))
        '1:command:->command' \\
        '*::argument:->arguments' && ret=0
      case $state in
        command) _describe -t commands command commands && ret=0 ;;
        arguments)
          local command=$words[1]
          words[1]=$program
          case $command in
    \(Command.allCases.map(branch).joined(separator: "\n"))
          esac
          ;;
      esac
      return ret
    }

    if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _coffer "$@"; else compdef _coffer coffer; fi
    """
  }

  private func argument(_ option: Option) -> String {
    let names = option.letter.map { "'(-\($0) \(option.name))'{-\($0),\(option.name)}" } ?? "'\(option.name)"
    let quote = option.letter == nil ? "" : "'"
    let value = option.value.map { ":\($0.name):\(action($0.kind))" } ?? ""
    return "\(names)\(quote)[\(option.summary.replacing(":", with: "\\:"))]\(value)'"
  }

  private func action(_ kind: Option.ValueKind) -> String {
    switch kind {
    case .path: "_files"
    case .key: "_coffer_keys"
    case .number: " "
    case .preferenceType: "(\(PreferenceType.words))"
    }
  }

  private func branch(_ command: Command) -> String {
    let operands = command.syntax.operands.map { operand in
      let action =
        switch operand.kind {
        case .key: "_coffer_keys"
        case .store: "_coffer_stores"
        case .value: " "
        case .shell: "(\(Shell.allCases.map(\.rawValue).joined(separator: " ")))"
        case .command: "(\(Command.allCases.map(\.rawValue).joined(separator: " ")))"
        }
      return "'\(operand.repeats ? "*" : ""):\(operand.name):\(action)'"
    }
    let arguments = command.syntax.allOptions.map(argument) + operands
    return "        \(command.rawValue))\n          _arguments -s \\\n            "
      + arguments.joined(separator: " \\\n            ") + " && ret=0\n          ;;"
  }
}
