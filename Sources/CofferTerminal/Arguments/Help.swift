/// The help of a program, generated from its table of commands.
///
/// ``Invocation/explain()`` prints it. Use this type to obtain help as text, for example in a test of its line widths:
///
/// ```swift
/// let help = Help<Command>(style: Style(isOn: false))
/// for command in Command.allCases {
///   #expect(help.text(for: command).split(separator: "\n").allSatisfy { $0.count <= 80 })
/// }
/// ```
public struct Help<Command: ProgramCommand>: Sendable {
  private let style: Style
  private let program = Command.program

  /// Creates help for the program of `Command`.
  ///
  /// - Parameter style: the style of headings (bold) and of remarks on examples (dim).
  public init(style: Style) { self.style = style }

  /// The text that `help` prints without a command: purpose, commands, common options, the program's own sections, exit
  /// statuses, and introductory examples. It ends with a newline.
  public var overview: String {
    var parts = [program.purpose, "\(heading("Usage:")) \(program.name) COMMAND [OPTIONS] [ARGUMENTS]"]
    parts.append(heading("Commands") + "\n" + table(Command.allCases.map { ($0.rawValue, $0.syntax.summary) }))
    parts.append(heading("Options of most commands") + "\n" + options(program.commonOptions))
    parts += program.sections.map { section in
      let text = section.text.split(separator: "\n").map { "  \($0)" }
      return ([heading(section.heading)] + text + (section.rows.isEmpty ? [] : [table(section.rows)]))
        .joined(separator: "\n")
    }
    let statuses = ExitStatus.allCases.map { (String($0.rawValue), program.meaning($0)) }.filter { !$0.1.isEmpty }
    parts.append(heading("Exit status") + "\n" + table(statuses))
    let introduction = program.introduction.compactMap(\.syntax.examples.first)
    parts.append(heading("Examples") + "\n" + examples(introduction))
    parts.append("'\(program.name) help COMMAND' explains a command.\n")
    return parts.joined(separator: "\n\n")
  }

  /// Returns the text that `help COMMAND` prints: usage, summary, details, arguments, options and examples. It ends
  /// with a newline.
  public func text(for command: Command) -> String {
    let syntax = command.syntax
    var parts = ["\(heading("Usage:")) \(command.usage)", syntax.summary.capitalizedFirst + "."]
    parts += syntax.details
    if !syntax.operands.isEmpty {
      parts.append(heading("Arguments") + "\n" + table(syntax.operands.map { ($0.name, $0.summary) }))
    }
    parts.append(heading("Options") + "\n" + options(syntax.allOptions))
    parts.append(heading("Examples") + "\n" + examples(syntax.examples))
    return parts.joined(separator: "\n\n") + "\n"
  }

  private func heading(_ text: String) -> String { style.bold(text) }

  private func options(_ options: [Command.Option]) -> String { table(options.map { ($0.synopsis, $0.summary) }) }

  private func table(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.columns).max() ?? 0
    return rows.map { "  \($0.0.padded(to: width))  \($0.1)" }.joined(separator: "\n")
  }

  private func examples(_ examples: [Syntax<Command.Option>.Example]) -> String {
    let width = examples.map(\.line.columns).max() ?? 0
    return examples.map { "  \($0.line.padded(to: width))  \(style.dim("# " + $0.purpose))" }.joined(separator: "\n")
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
