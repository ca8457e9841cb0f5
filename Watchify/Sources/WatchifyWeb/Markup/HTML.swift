/// A piece of a page, which is always well-formed: text can only be put in as text, attributes only by name, and links
/// only as ``Link`` values. No text of a shop becomes markup, whatever it contains.
///
/// The markup is XML as well as HTML, so that tests can parse it strictly.
struct HTML: Sendable {
  /// The markup in UTF-8.
  private(set) var markup = ""

  /// Creates an empty piece.
  init() {}

  /// Creates a piece that shows a text.
  init(_ text: String) { Self.escape(text, into: &markup) }

  private init(markup: String) { self.markup = markup }

  /// Appends a piece.
  mutating func append(_ other: HTML) { markup += other.markup }

  /// Returns an element. Elements that HTML defines without content must have none.
  static func element(_ tag: Tag, _ attributes: [Attribute], _ content: HTML) -> HTML {
    var markup = "<" + tag.rawValue
    for attribute in attributes {
      guard let value = attribute.value else { continue }
      markup += " \(attribute.name.rawValue)=\""
      escape(value, into: &markup)
      markup += "\""
    }
    if tag.isVoid {
      markup += "/>"
    } else {
      markup += ">"
      markup += content.markup
      markup += "</\(tag.rawValue)>"
    }
    return HTML(markup: markup)
  }

  /// Returns a whole document.
  static func document(_ root: HTML) -> String { "<!DOCTYPE html>\n" + root.markup + "\n" }

  /// Appends a text with the characters replaced that have a meaning in markup. Characters that no document may contain
  /// become U+FFFD.
  private static func escape(_ text: String, into markup: inout String) {
    let isPlain = text.utf8.allSatisfy { byte in
      byte >= 0x20 && byte < 0x7F && byte != 0x26 && byte != 0x3C && byte != 0x3E && byte != 0x22 && byte != 0x27
    }
    guard !isPlain else {
      markup += text
      return
    }
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": markup += "&amp;"
      case "<": markup += "&lt;"
      case ">": markup += "&gt;"
      case "\"": markup += "&quot;"
      case "'": markup += "&#39;"
      case "\n", "\t": markup.unicodeScalars.append(scalar)
      default: markup.unicodeScalars.append(isAllowed(scalar) ? scalar : "\u{FFFD}")
      }
    }
  }

  /// Whether a document may contain a character (XML 1.0, 2.2, without the discouraged controls).
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0xFDD0...0xFDEF: false
    default: scalar.value & 0xFFFE != 0xFFFE
    }
  }
}

/// Builds a piece of a page from texts, which are escaped, and other pieces.
@resultBuilder
enum HTMLBuilder {
  static func buildExpression(_ text: String) -> HTML { HTML(text) }
  static func buildExpression(_ piece: HTML) -> HTML { piece }
  static func buildExpression(_ piece: HTML?) -> HTML { piece ?? HTML() }
  static func buildPartialBlock(first: HTML) -> HTML { first }
  static func buildPartialBlock(accumulated: HTML, next: HTML) -> HTML {
    var all = accumulated
    all.append(next)
    return all
  }
  static func buildBlock() -> HTML { HTML() }
  static func buildOptional(_ piece: HTML?) -> HTML { piece ?? HTML() }
  static func buildEither(first piece: HTML) -> HTML { piece }
  static func buildEither(second piece: HTML) -> HTML { piece }
  static func buildArray(_ pieces: [HTML]) -> HTML { pieces.reduce(into: HTML()) { $0.append($1) } }
}

/// Returns an element with attributes and content.
func tag(_ tag: Tag, _ attributes: Attribute..., @HTMLBuilder content: () throws -> HTML) rethrows -> HTML {
  HTML.element(tag, attributes, try content())
}

/// Returns an element with attributes and without content.
func tag(_ tag: Tag, _ attributes: Attribute...) -> HTML { HTML.element(tag, attributes, HTML()) }

/// Returns several pieces as one.
func pieces(@HTMLBuilder _ content: () throws -> HTML) rethrows -> HTML { try content() }
