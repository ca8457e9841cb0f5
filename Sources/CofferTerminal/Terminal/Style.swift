import Foundation

/// Colours and weights of text, where somebody sees them.
///
/// ``Output/style`` is on where the output is a terminal, its `TERM` is set and not `dumb`, and `NO_COLOR` is not set
/// or empty (no-color.org).
///
/// ```swift
/// let output = Output.standard
/// try output.writeLine(output.style.bold("NAME  SIZE"))
/// ```
public struct Style: Sendable {
  /// Whether the functions add escape sequences. Otherwise they return the text as it is.
  public let isOn: Bool

  /// Creates a style that is always on, or always off, as for text that is no output.
  public init(isOn: Bool) { self.isOn = isOn }

  /// Creates the style for what is written to a descriptor.
  init(for descriptor: Int32) {
    let refusal = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
    isOn = isatty(descriptor) == 1 && !refusal && !Self.isDumb
  }

  /// Whether the terminal says that it can only print one character after the other.
  static var isDumb: Bool { getenv("TERM").map { strcmp($0, "dumb") == 0 } ?? true }

  /// Returns the text in bold: for headings and names.
  public func bold(_ text: String) -> String { wrap(text, "1") }

  /// Returns the text in a faint colour: for what matters less.
  public func dim(_ text: String) -> String { wrap(text, "2") }

  /// Returns the text in red: for failures.
  public func red(_ text: String) -> String { wrap(text, "31") }

  /// Returns the text in green: for what is well.
  public func green(_ text: String) -> String { wrap(text, "32") }

  /// Returns the text in yellow: for warnings.
  public func yellow(_ text: String) -> String { wrap(text, "33") }

  private func wrap(_ text: String, _ code: String) -> String { isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
