/// The generator of the completion script for zsh.
struct ZshCompletion<Command: ProgramCommand> {
  private let program = Command.program
  private var name: String { program.name }

  var script: String {
    let heading = """
      #compdef \(name)
      # Completions of \(name) for zsh: \(name) completions zsh > _\(name), in a folder of $fpath
      """
    let end = "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _\(name) \"$@\"; else compdef _\(name) \(name); fi"
    return [heading, program.lister.map(listing), Command.takes(.locations) ? locations : nil, main, end]
      .compactMap(\.self).joined(separator: "\n\n")
  }

  private func listing(_ lister: Lister<Command.Option>) -> String {
    let call = "\(Command.listerEnvironment)$words[1] \(lister.command)"
    guard let scope = lister.scope else {
      return """
        # Lists the \(lister.items) of \(name).
        _\(name)_\(lister.items)() {
          local -a \(lister.items)
          \(lister.items)=(${(0)"$(\(call) -- "$PREFIX" 2>/dev/null)"})
          compadd -a \(lister.items)
        }
        """
    }
    let variable = scope.rawValue
    return """
      # Lists the \(lister.items) of the \(variable) on the command line.
      _\(name)_\(lister.items)() {
        local -a \(lister.items)
        local \(variable)=${opt_args[\(scope.name)]}
        \(lister.items)=(${(0)"$(\(call) ${\(variable):+\(scope.name) $\(variable)} -- "$PREFIX" 2>/dev/null)"})
        compadd -a \(lister.items)
      }
      """
  }

  private var locations: String {
    """
    # Completes files, also after a scheme such as sqlite:
    _\(name)_stores() {
      compset -P '[a-z]*:'
      _files
    }
    """
  }

  private var main: String {
    """
    _\(name)() {
      local context state line ret=1
      local -A opt_args
      local -a commands
      commands=(
    \(Command.allCases.map { "    '\($0.rawValue):\($0.syntax.summary.quoted)'" }.joined(separator: "\n"))
      )
      local program=$words[1]
      _arguments -C \\
    \(Command.leadingOptions.map { "    \(argument($0)) \\" }.joined(separator: "\n"))
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
    """
  }

  private func argument(_ option: Command.Option) -> String {
    let names = option.letter.map { "'(-\($0) \(option.name))'{-\($0),\(option.name)}" } ?? "'\(option.name)"
    let quote = option.letter == nil ? "" : "'"
    let value = option.value.map { ":\($0.name):\(optionAction($0.completion))" } ?? ""
    return "\(names)\(quote)[\(option.summary.quoted.replacing(":", with: "\\:"))]\(value)'"
  }

  /// Returns the action for the value of an option, where a scheme cannot precede the path.
  private func optionAction(_ completion: Completion) -> String {
    completion == .locations ? "_files" : action(completion)
  }

  private func action(_ completion: Completion) -> String {
    switch completion {
    case .files: "_files"
    case .locations: "_\(name)_stores"
    case .listed: program.lister.map { "_\(name)_\($0.items)" } ?? " "
    case .nothing: " "
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .commands: "(\(Command.names))"
    }
  }

  private func branch(_ command: Command) -> String {
    let operands = command.syntax.operands.map { operand in
      "'\(operand.repeats ? "*" : ""):\(operand.name):\(action(operand.completion))'"
    }
    let arguments = command.syntax.allOptions.map(argument) + operands
    return "        \(command.rawValue))\n          _arguments -s \\\n            "
      + arguments.joined(separator: " \\\n            ") + " && ret=0\n          ;;"
  }
}
