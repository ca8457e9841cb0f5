/// One option of a program, by its name: an enumeration whose cases are all of them. An option means the same wherever
/// it is taken.
package protocol ProgramOption: CaseIterable, Hashable, RawRepresentable, Sendable
where RawValue == String, AllCases == [Self] {
  static var json: Self { get }
  static var help: Self { get }
  static var version: Self { get }

  /// The letter of the short form, where there is one.
  var letter: Character? { get }
  /// The value that follows; `nil` for a switch.
  var value: OptionValue? { get }
  /// One line for help and completions.
  var summary: String { get }
}

/// The value of an option.
package struct OptionValue: Sendable {
  /// `PATH`
  package let name: String
  package let completion: Completion

  package init(name: String, completion: Completion) {
    self.name = name
    self.completion = completion
  }
}

extension ProgramOption {
  /// `--file`
  package var name: String { "--\(rawValue)" }

  /// What `--help` shows on the left: `-l, --long`.
  package var synopsis: String {
    (letter.map { "-\($0), " } ?? "") + name + (value.map { " \($0.name)" } ?? "")
  }
}
