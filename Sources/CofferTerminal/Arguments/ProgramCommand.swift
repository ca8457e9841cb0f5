/// One command of a program, by its name: an enumeration whose cases are all of them.
///
/// The commands are declared as data. The parser, help, completions and "did you mean" all read that table, and the
/// program's own `switch` over its commands stays exhaustive.
///
/// This folder is the seam where swift-argument-parser could take over: it would replace it and `Completions`, and the
/// commands would go on taking an ``Invocation``. It is not used because the package has no dependencies, and these few
/// files start faster than it links.
package protocol ProgramCommand: CaseIterable, Hashable, RawRepresentable, Sendable
where RawValue == String, AllCases == [Self] {
  associatedtype Option: ProgramOption

  /// The program that has the commands.
  static var program: Program<Self> { get }

  static var completions: Self { get }
  static var help: Self { get }
  static var version: Self { get }

  /// What the command takes and what its help says.
  var syntax: Syntax<Option> { get }
}

extension ProgramCommand {
  /// `coffer set [OPTIONS] KEY [VALUE]`
  package var usage: String {
    let operands = syntax.operands.map { operand in
      let name = operand.name + (operand.repeats ? "..." : "")
      return operand.isRequired ? name : "[\(name)]"
    }
    return ([Self.program.name, rawValue, "[OPTIONS]"] + operands).joined(separator: " ")
  }

  /// Something is wrong with what was typed, with where to read more.
  package static func mistake(_ message: String, _ command: Self? = nil) -> UsageError {
    UsageError(message, advice: "Try '\(program.name) help\(command.map { " \($0.rawValue)" } ?? "")'.")
  }
}

/// Something is wrong with what was typed. It never repeats a value, which may be a secret.
package struct UsageError: Error, Equatable {
  package let message: String
  /// Where to read more.
  package let advice: String

  package init(_ message: String, advice: String) {
    self.message = message
    self.advice = advice
  }
}
