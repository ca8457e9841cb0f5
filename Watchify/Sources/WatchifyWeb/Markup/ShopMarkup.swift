import CofferTerminal

/// The markup of texts and addresses that a shop controls.
enum ShopMarkup {
  /// The maximum length of a text on a page, in characters.
  static let longestText = 255

  /// Returns a text in an element of its own, so that its direction does not affect the page. Control characters are
  /// escaped visibly, and a long text ends with an ellipsis.
  static func text(_ text: String, limit: Int = longestText) -> HTML {
    tag(.bdi) { plain(text, limit: limit) }
  }

  /// Returns the text for use without markup, such as titles of pages and attributes.
  static func plain(_ text: String, limit: Int = longestText) -> String {
    // Escaping first would take time and memory in proportion to a text of any length.
    let start = text.unicodeScalars.prefix(limit * 8)
    let isCut = start.endIndex < text.unicodeScalars.endIndex
    let line = String(String.UnicodeScalarView(start)).oneLine(limit: limit)
    return isCut && !line.hasSuffix("…") ? line + "…" : line
  }

  /// Returns a link to a page of a shop, or the text alone if the address is none of the web.
  static func outsideLink(_ address: String, _ content: HTML) -> HTML {
    guard let link = Link(outside: address) else { return content }
    return tag(.a, .href(link), .set(.rel, "noopener noreferrer external")) { content }
  }
}
