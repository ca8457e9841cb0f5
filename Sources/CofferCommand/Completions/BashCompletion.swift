/// Completions for bash, from the table.
struct BashCompletion {
  var script: String {
    """
    # Completions of coffer for bash: source <(coffer completions bash)

    # Adds the keys that start with a word, quoted where the shell needs it.
    _coffer_keys() {
      local key
      while IFS= read -r -d '' key; do
        COMPREPLY+=("$(printf '%q' "$key")")
        ((${#COMPREPLY[@]} < 200)) || break
      done < <(\(Passphrases.neverAsk) "$program" ls -0 ${store:+--store "$store"} -- "$1" 2>/dev/null)
    }

    _coffer_files() {
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$1")
    }

    _coffer() {
      local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
      local program=${COMP_WORDS[0]} command='' store='' options='' operand='' count=0 index
      COMPREPLY=()
      for ((index = 1; index < COMP_CWORD; index++)); do
        case ${COMP_WORDS[index]} in
          --store) store=${COMP_WORDS[++index]/#\\~/$HOME} ;;
          \(skippedOptions)) ((++index)) ;;
          -*) ;;
          *)
            if [[ -z $command ]]; then
              command=${COMP_WORDS[index]}
            elif ((++count == 1)) && [[ $command == cp ]]; then
              store=${COMP_WORDS[index]/#\\~/$HOME}
            fi
            ;;
        esac
      done
      case $previous in
        \(Option.pattern([.path])))
          _coffer_files "$word"
          return
          ;;
        \(Option.pattern([.key])))
          _coffer_keys "$word"
          return
          ;;
        \(Option.pattern([.number]))) return ;;
        \(Option.pattern([.preferenceType])))
          mapfile -t COMPREPLY < <(compgen -W '\(PreferenceType.words)' -- "$word")
          return
          ;;
      esac
      case $command in
        '')
          options='\(words([.store, .json, .help, .version]))'
          operand='\(Command.allCases.map(\.rawValue).joined(separator: " "))'
          ;;
    \(Command.allCases.map(branch).joined(separator: "\n"))
      esac
      if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
      elif [[ $operand == KEY ]]; then
        _coffer_keys "$word"
      elif [[ $operand == STORE ]]; then
        _coffer_files "$word"
      else
        mapfile -t COMPREPLY < <(compgen -W "$operand" -- "$word")
      fi
    }
    complete -F _coffer coffer
    """
  }

  private var skippedOptions: String {
    Option.allCases.filter { $0.value != nil && $0 != .store }.map(\.name).joined(separator: "|")
  }

  private func words(_ options: [Option]) -> String { options.flatMap(\.words).joined(separator: " ") }

  private func branch(_ command: Command) -> String {
    var lines = ["    \(command.rawValue))", "      options='\(words(command.syntax.allOptions))'"]
    if let operand = command.syntax.operands.first {
      let words =
        switch operand.kind {
        case .key: "KEY"
        case .store: "STORE"
        case .value: ""
        case .shell: Shell.allCases.map(\.rawValue).joined(separator: " ")
        case .command: Command.allCases.map(\.rawValue).joined(separator: " ")
        }
      // To bash `sqlite:PATH` is three words, so the position of a store says nothing.
      let condition = operand.repeats || operand.kind == .store ? "" : "((count == 0)) && "
      lines.append("      \(condition)operand='\(words)'")
    }
    return (lines + ["      ;;"]).joined(separator: "\n")
  }
}
