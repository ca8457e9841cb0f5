/// Help, made from the table.
struct Help {
  /// Whether headings are bold.
  let style: Style

  /// What `coffer help` prints.
  var overview: String {
    let commands = Command.allCases.map { ($0.rawValue, $0.syntax.summary) }
    return """
      Keep values by key: durable, atomic, and heard by other processes.

      \(heading("Usage:")) coffer COMMAND [OPTIONS] [ARGUMENTS]

      \(heading("Commands"))
      \(table(commands))

      \(heading("Options of most commands"))
      \(table([Option.store, .json, .help].map { ($0.synopsis, $0.summary) }))

      \(heading("Store"))
        --store, else $COFFER_STORE, else $XDG_DATA_HOME/coffer/coffer.db, else
        ~/.local/share/coffer/coffer.db. 'set' creates it, and 'cp' creates its TO;
        nothing else does. Kinds of store:
      \(table(StoreLocation.kinds))

      \(heading("Exit status"))
      \(table(ExitStatus.allCases.map { (String($0.rawValue), $0.meaning) }))

      \(heading("Examples"))
      \(examples([Command.set, .get, .ls, .watch].compactMap(\.syntax.examples.first)))

      'coffer help COMMAND' explains a command.

      """
  }

  /// What `coffer help COMMAND` prints.
  func text(for command: Command) -> String {
    let syntax = command.syntax
    var parts = ["\(heading("Usage:")) \(command.usage)", syntax.summary.capitalizedFirst + "."]
    parts += syntax.details
    if !syntax.operands.isEmpty {
      parts.append(heading("Arguments") + "\n" + table(syntax.operands.map { ($0.name, $0.summary) }))
    }
    parts.append(heading("Options") + "\n" + table(syntax.allOptions.map { ($0.synopsis, $0.summary) }))
    parts.append(heading("Examples") + "\n" + examples(syntax.examples))
    return parts.joined(separator: "\n\n") + "\n"
  }

  private func heading(_ text: String) -> String { style.bold(text) }

  private func table(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { "  \($0.0.padded(to: width))  \($0.1)" }.joined(separator: "\n")
  }

  private func examples(_ examples: [Syntax.Example]) -> String {
    let width = examples.map(\.line.count).max() ?? 0
    return examples.map { "  \($0.line.padded(to: width))  \(style.dim("# " + $0.purpose))" }.joined(separator: "\n")
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
