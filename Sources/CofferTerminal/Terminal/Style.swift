import Foundation

/// Colours and weights of text on terminals.
///
/// ``Output/style`` is on if the output is a terminal, `TERM` is set and not `dumb`, and `NO_COLOR` is unset or empty
/// (no-color.org).
///
/// ```swift
/// let output = Output.standard
/// try output.writeLine(output.style.bold("NAME  SIZE"))
/// ```
public struct Style: Sendable {
  /// Whether the methods add escape sequences. Otherwise they return the text unchanged.
  public let isOn: Bool

  /// Creates a style that is always on or always off, for text that is not written to a terminal directly.
  public init(isOn: Bool) { self.isOn = isOn }

  /// Creates the style for output to a descriptor.
  init(for descriptor: Int32) {
    let refusal = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
    isOn = isatty(descriptor) == 1 && !refusal && !Self.isDumb
  }

  /// Whether the terminal supports no cursor movement or escape sequences: `TERM` is unset or `dumb`.
  static var isDumb: Bool { getenv("TERM").map { strcmp($0, "dumb") == 0 } ?? true }

  /// Returns the text in bold, for headings and names.
  public func bold(_ text: String) -> String { wrap(text, "1") }

  /// Returns the text in a faint colour, for secondary information.
  public func dim(_ text: String) -> String { wrap(text, "2") }

  /// Returns the text in red, for failures.
  public func red(_ text: String) -> String { wrap(text, "31") }

  /// Returns the text in green, for success.
  public func green(_ text: String) -> String { wrap(text, "32") }

  /// Returns the text in yellow, for warnings.
  public func yellow(_ text: String) -> String { wrap(text, "33") }

  private func wrap(_ text: String, _ code: String) -> String { isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
