extension ProgramCommand {
  /// The completion script for bash, without the last newline.
  package static var completionScript: String { BashCompletion<Self>().script }

  /// The names of all commands, separated by spaces.
  fileprivate static var names: String { allCases.map(\.rawValue).joined(separator: " ") }

  /// Whether the command takes its scope as its first operand, so that words are listed from there.
  fileprivate var hasScopeOperand: Bool {
    syntax.operands.first?.completion == .locations && syntax.options.contains { $0.value?.completion == .listed }
  }

  /// Returns whether an operand of any command has the given completion.
  fileprivate static func takes(_ completion: Completion) -> Bool {
    allCases.contains { $0.syntax.operands.contains { $0.completion == completion } }
  }
}

/// The generator of the completion script for bash.
private struct BashCompletion<Command: ProgramCommand> {
  private typealias Option = Command.Option

  private let program = Command.program
  private var name: String { program.name }
  private var lister: Lister<Option>? { program.lister }
  /// The option that selects the store whose words are listed, and the shell variable for it.
  private var scope: (name: String, variable: String)? { lister?.scope.map { ($0.name, $0.rawValue) } }

  var script: String {
    let parts = ["# Completions of \(name) for bash: source <(\(name) completions)", listing, files, main]
    return parts.compactMap(\.self).joined(separator: "\n\n") + "\ncomplete -F _\(name) \(name)"
  }

  private var listing: String? {
    guard let lister else { return nil }
    let passed = scope.map { " ${\($0.variable):+\($0.name) \"$\($0.variable)\"}" } ?? ""
    return """
      # Adds the \(lister.items) that start with a word, quoted where the shell needs it.
      _\(name)_\(lister.items)() {
        local \(lister.item)
        while IFS= read -r -d '' \(lister.item); do
          COMPREPLY+=("$(printf '%q' "$\(lister.item)")")
          ((${#COMPREPLY[@]} < 200)) || break
        done < <(\(lister.environment.map { $0 + " " } ?? "")"$program" \(lister.command)\(passed) -- "$1" 2>/dev/null)
      }
      """
  }

  private var files: String {
    """
    _\(name)_files() {
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$1")
    }
    """
  }

  private var main: String {
    """
    _\(name)() {
      local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
      local program=${COMP_WORDS[0]} command=''\(scope.map { " \($0.variable)=''" } ?? "") options='' operand='' \
    count=0 index
      COMPREPLY=()
      for ((index = 1; index < COMP_CWORD; index++)); do
        case ${COMP_WORDS[index]} in
    \(lines(words))
        esac
      done
      case $previous in
    \(lines(values))
      esac
      case $command in
        '')
          options='\(names(program.commonOptions + [.version]))'
          operand='\(Command.names)'
          ;;
    \(Command.allCases.map(branch).joined(separator: "\n"))
      esac
      if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    \(lines(offers))
      else
        mapfile -t COMPREPLY < <(compgen -W "$operand" -- "$word")
      fi
    }
    """
  }

  /// The cases that interpret each word before the current one.
  private var words: [String] {
    var lines = scope.map { ["      \($0.name)) \($0.variable)=${COMP_WORDS[++index]/#\\~/$HOME} ;;"] } ?? []
    let skipped = Option.allCases.filter { $0.value != nil && $0 != lister?.scope }.map(\.name)
    if !skipped.isEmpty { lines.append("      \(skipped.joined(separator: "|"))) ((++index)) ;;") }
    lines += ["      -*) ;;", "      *)", "        if [[ -z $command ]]; then"]
    lines.append("          command=${COMP_WORDS[index]}")
    let scoped = Command.allCases.filter(\.hasScopeOperand).map(\.rawValue)
    if let scope, !scoped.isEmpty {
      lines.append("        elif ((++count == 1)) && [[ $command == \(alternatives(scoped)) ]]; then")
      lines.append("          \(scope.variable)=${COMP_WORDS[index]/#\\~/$HOME}")
    } else {
      lines += ["        else", "          ((++count))"]
    }
    return lines + ["        fi", "        ;;"]
  }

  private func alternatives(_ words: [String]) -> String {
    words.count == 1 ? words[0] : "@(\(words.joined(separator: "|")))"
  }

  /// The cases that complete the value of an option.
  private var values: [String] {
    var lines: [String] = []
    for (kind, options) in groups {
      let pattern = "    \(options.joined(separator: "|")))"
      let action: String
      switch kind {
      case .nothing:
        lines.append(pattern + " return ;;")
        continue
      case .files, .locations: action = "_\(name)_files \"$word\""
      case .listed: action = lister.map { "_\(name)_\($0.items) \"$word\"" } ?? ":"
      case .words(let words):
        action = "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$word\")"
      case .commands: action = "mapfile -t COMPREPLY < <(compgen -W '\(Command.names)' -- \"$word\")"
      }
      lines += [pattern, "      \(action)", "      return", "      ;;"]
    }
    return lines.isEmpty ? ["    *) ;;"] : lines
  }

  /// The options with a value, grouped by the completion of the value.
  private var groups: [(Completion, [String])] {
    var groups: [(Completion, [String])] = []
    let order: [Completion] = [.files, .listed, .nothing]
    let kinds = Option.allCases.compactMap { $0.value?.completion }.map { $0 == .locations ? .files : $0 }
    for kind in order + kinds where kinds.contains(kind) && !groups.contains(where: { $0.0 == kind }) {
      let options = Option.allCases.filter { option in
        option.value.map { $0.completion == kind || (kind == .files && $0.completion == .locations) } ?? false
      }
      groups.append((kind, options.map(\.name)))
    }
    return groups
  }

  private func branch(_ command: Command) -> String {
    var lines = ["    \(command.rawValue))", "      options='\(names(command.syntax.allOptions))'"]
    if let operand = command.syntax.operands.first {
      let words =
        switch operand.completion {
        case .listed: lister.map { $0.item.uppercased() } ?? ""
        case .locations: "STORE"
        case .files: "FILE"
        case .nothing: ""
        case .words(let words): words.joined(separator: " ")
        case .commands: Command.names
        }
      // bash splits `sqlite:PATH` into three words, so the index of a location cannot be used.
      let condition = operand.repeats || operand.completion == .locations ? "" : "((count == 0)) && "
      lines.append("      \(condition)operand='\(words)'")
    }
    return lines.joined(separator: "\n") + "\n      ;;"
  }

  /// The branches for operands that cannot be completed from a fixed list of words.
  private var offers: [String] {
    var lines: [String] = []
    if let lister {
      lines.append("  elif [[ $operand == \(lister.item.uppercased()) ]]; then")
      lines.append("    _\(name)_\(lister.items) \"$word\"")
    }
    for (kind, word) in [(Completion.locations, "STORE"), (.files, "FILE")] where Command.takes(kind) {
      lines += ["  elif [[ $operand == \(word) ]]; then", "    _\(name)_files \"$word\""]
    }
    return lines
  }

  private func names(_ options: [Option]) -> String {
    options.flatMap { ($0.letter.map { ["-\($0)"] } ?? []) + [$0.name] }.joined(separator: " ")
  }
  private func lines(_ lines: [String]) -> String { lines.joined(separator: "\n") }
}
