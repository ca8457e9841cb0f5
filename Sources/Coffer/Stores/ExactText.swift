/// A text that is compared and hashed by its UTF-8 bytes. `String` treats canonically equivalent Unicode forms as
/// equal, but directories whose names differ in form are distinct.
struct ExactText: Hashable, Sendable, CustomStringConvertible {
  let description: String

  init(_ text: String) { description = text }

  static func == (left: ExactText, right: ExactText) -> Bool {
    left.description.utf8.elementsEqual(right.description.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for byte in description.utf8 { hasher.combine(byte) }
  }
}
