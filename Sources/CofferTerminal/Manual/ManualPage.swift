public import Foundation

/// The manual page of a program, generated from its table of commands, in the language of man(7).
///
/// `NAME help --man` prints it, so that a package can contain it:
///
/// ```console
/// $ notes help --man > notes.1
/// $ man ./notes.1
/// ```
///
/// The page has a section for each command, with the text that help shows. Its date is that of `SOURCE_DATE_EPOCH`, if
/// the environment contains it, so that builds are reproducible.
public struct ManualPage<Command: ProgramCommand>: Sendable {
  private typealias Option = Command.Option

  private let date: Date
  private let program = Command.program

  /// Creates the page of the program of `Command`.
  ///
  /// - Parameter date: the date in the footer of the page. Only its day in UTC is shown.
  public init(date: Date) { self.date = date }

  /// Creates the page with the date of `SOURCE_DATE_EPOCH`, in seconds since 1970; the current date without it.
  ///
  /// - Parameter environment: returns the value of an environment variable.
  init(environment: (String) -> String?) {
    let seconds = environment("SOURCE_DATE_EPOCH").flatMap(Int64.init)
    self.init(date: seconds.map { Date(timeIntervalSince1970: Double($0)) } ?? Date())
  }

  /// The source of the page. It ends with a newline.
  public var source: String {
    let name = program.name
    var roff = Roff()
    roff.title(name, day: day, source: "\(name) \(program.version)")
    roff.section("Name")
    roff.line("\(Roff.text(name)) \\- \(Roff.text(program.purpose.withoutStop.lowercasedFirst))")
    roff.section("Synopsis")
    roff.request("SY", [name])
    roff.line("\\fICOMMAND\\fP [\\fIOPTIONS\\fP] [\\fIARGUMENTS\\fP]")
    roff.request("YS")
    roff.section("Commands")
    for command in Command.allCases { write(command, to: &roff) }
    roff.section("Common options")
    for option in program.commonOptions + [.version] { write(option, to: &roff) }
    for section in program.sections {
      roff.section(section.heading)
      roff.paragraph(section.text)
      for (term, meaning) in section.rows { roff.entry("\\fB\(Roff.text(term))\\fP", meaning) }
    }
    roff.section("Exit status")
    for status in ExitStatus.allCases where !program.meaning(status).isEmpty {
      roff.entry("\\fB\(status.rawValue)\\fP", program.meaning(status))
    }
    roff.section("Examples")
    for example in program.introduction.compactMap(\.syntax.examples.first) { write(example, to: &roff) }
    return roff.source
  }

  /// The date as `2026-01-31`.
  private var day: String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    let numbers = [parts.year ?? 1970, parts.month ?? 1, parts.day ?? 1]
    return numbers.map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: "-")
  }

  private func write(_ command: Command, to roff: inout Roff) {
    let syntax = command.syntax
    roff.request("SS", [command.rawValue])
    roff.request("SY", ["\(program.name) \(command.rawValue)"])
    let operands = syntax.operands.map { operand in
      let name = "\\fI\(Roff.text(operand.name))\\fP" + (operand.repeats ? "..." : "")
      return operand.isRequired ? name : "[\(name)]"
    }
    roff.line((["[\\fIOPTIONS\\fP]"] + operands).joined(separator: " "))
    roff.request("YS")
    roff.paragraph(syntax.summary.capitalizedFirst + ".")
    for text in syntax.details { roff.paragraph(text) }
    for operand in syntax.operands { roff.entry("\\fI\(Roff.text(operand.name))\\fP", operand.summary) }
    for option in syntax.options { write(option, to: &roff) }
    for example in syntax.examples { write(example, to: &roff) }
  }

  private func write(_ option: Option, to roff: inout Roff) {
    let words = option.words.map { "\\fB\(Roff.text($0))\\fP" }.joined(separator: ", ")
    roff.entry(words + (option.value.map { " \\fI\(Roff.text($0.name))\\fP" } ?? ""), option.summary)
  }

  private func write(_ example: Syntax<Option>.Example, to roff: inout Roff) {
    roff.entry("\\f(CR\(Roff.text(example.line))\\fP", example.purpose.capitalizedFirst + ".")
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
  fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
  fileprivate var withoutStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
