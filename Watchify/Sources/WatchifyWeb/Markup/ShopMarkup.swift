import CofferTerminal

/// The markup of texts and addresses that a shop controls.
enum ShopMarkup {
  /// The maximum length of a text on a page, in characters.
  static let longestText = 255

  /// The largest number of combining marks in a row; more would cover the lines above and below.
  private static let mostMarks = 4

  /// Returns a text in an element of its own, so that its direction does not affect the page. Control characters are
  /// escaped visibly, a long text ends with an ellipsis, and one that shows nothing becomes "(blank)".
  static func text(_ text: String, limit: Int = longestText) -> HTML {
    tag(.bdi) { plain(text, limit: limit) }
  }

  /// Returns the text for use without markup, such as titles of pages and attributes.
  static func plain(_ text: String, limit: Int = longestText) -> String {
    // Escaping first would take time and memory in proportion to a text of any length.
    let start = text.unicodeScalars.prefix(limit * 8)
    let isCut = start.endIndex < text.unicodeScalars.endIndex
    var (kept, marks) = (String.UnicodeScalarView(), 0)
    for scalar in start {
      marks = isMark(scalar) ? marks + 1 : 0
      if marks <= mostMarks { kept.append(scalar) }
    }
    guard kept.contains(where: isVisible) else { return "(blank)" }
    let line = String(kept).oneLine(limit: limit)
    return isCut && !line.hasSuffix("…") ? line + "…" : line
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x300, !scalar.properties.isVariationSelector else { return false }
    return [.nonspacingMark, .enclosingMark].contains(scalar.properties.generalCategory)
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    let isBlankPattern = scalar == "\u{2800}"  // Braille without dots
    return !scalar.properties.isWhitespace && !scalar.properties.isDefaultIgnorableCodePoint && !isBlankPattern
  }

  /// Returns a link to a page of a shop, or the text alone if the address is none of the web.
  static func outsideLink(_ address: String, _ content: HTML) -> HTML {
    guard let link = Link(outside: address) else { return content }
    return tag(.a, .href(link), .set(.rel, "noopener noreferrer external")) { content }
  }
}
