/// A text that is compared and hashed by its UTF-8 bytes. `String` treats canonically equivalent Unicode forms as
/// equal, but directories whose names differ in form are distinct.
package struct ExactText: Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ text: String) { description = text }

  package static func == (left: ExactText, right: ExactText) -> Bool {
    left.description.utf8.elementsEqual(right.description.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in description.utf8 { hasher.combine(byte) }
  }
}
