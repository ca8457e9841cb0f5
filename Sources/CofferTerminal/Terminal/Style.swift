import Foundation

/// Colours, where somebody sees them: on a terminal, and not against `NO_COLOR`.
package struct Style: Sendable {
  package let isOn: Bool

  package init(isOn: Bool) { self.isOn = isOn }

  /// The style for what is written to a descriptor.
  package init(for descriptor: Int32) {
    let refusal = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
    isOn = isatty(descriptor) == 1 && !refusal && !Self.isDumb
  }

  /// Whether the terminal says that it can only print one character after the other.
  package static var isDumb: Bool { getenv("TERM").map { strcmp($0, "dumb") == 0 } ?? true }

  package func bold(_ text: String) -> String { wrap(text, "1") }
  package func dim(_ text: String) -> String { wrap(text, "2") }
  package func red(_ text: String) -> String { wrap(text, "31") }
  package func green(_ text: String) -> String { wrap(text, "32") }
  package func yellow(_ text: String) -> String { wrap(text, "33") }

  private func wrap(_ text: String, _ code: String) -> String { isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
