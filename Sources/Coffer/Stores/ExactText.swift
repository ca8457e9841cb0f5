/// A text that is the same only with the same bytes: `String` merges Unicode forms, and two directories whose names
/// differ in their form only are two.
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
