/// The options of a program: an enumeration with a case for each, whose raw value is the name without its dashes.
///
/// An option has the same meaning in every command that takes it.
///
/// ```swift
/// enum Option: String, ProgramOption {
///   case output, quiet, json, help, version
///
///   var letter: Character? {
///     switch self {
///     case .help: "h"
///     case .quiet: "q"
///     default: nil
///     }
///   }
///
///   var value: OptionValue? { self == .output ? OptionValue(name: "FILE", completion: .files) : nil }
///
///   var summary: String {
///     switch self {
///     case .output: "write to a file"
///     case .quiet: "print nothing"
///     case .json: "print JSON, errors too"
///     case .help: "show help"
///     case .version: "show the version"
///     }
///   }
/// }
/// ```
public protocol ProgramOption: CaseIterable, Hashable, RawRepresentable, Sendable
where RawValue == String, AllCases == [Self] {
  /// The switch for JSON output. With it, errors are printed as JSON as well.
  static var json: Self { get }
  /// The switch that shows the help of a command, which every command takes.
  static var help: Self { get }
  /// The switch that shows the version, with or without a command.
  static var version: Self { get }

  /// The letter of the short form, such as `l` for `-l`; `nil` if there is none. Only switches can have one.
  var letter: Character? { get }
  /// The value that follows the option; `nil` for a switch.
  var value: OptionValue? { get }
  /// The effect of the option, in one line for help and completions: a lower-case clause.
  var summary: String { get }
}

/// The value that follows an option.
public struct OptionValue: Sendable {
  /// The placeholder in help, such as `PATH`.
  public let name: String
  /// The candidates that a shell offers for the value.
  public let completion: Completion

  /// Creates a value.
  ///
  /// - Parameters:
  ///   - name: the placeholder in help, by convention in capital letters.
  ///   - completion: the candidates that a shell offers for the value.
  public init(name: String, completion: Completion) {
    self.name = name
    self.completion = completion
  }
}

extension ProgramOption {
  /// The option as it is typed: `--file`.
  public var name: String { "--\(rawValue)" }

  /// The left column of the options in help: `-l, --long`.
  var synopsis: String {
    (letter.map { "-\($0), " } ?? "") + name + (value.map { " \($0.name)" } ?? "")
  }
}
