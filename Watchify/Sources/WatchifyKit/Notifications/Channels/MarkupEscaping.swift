/// Escaping of a shop's texts, which are hostile, for the markup of chat programs, HTML and XML.
extension String {
  /// The text with `&`, `<`, `>` and quotation marks as entities, without characters that XML 1.0 forbids.
  var escapedForXML: String {
    var escaped = ""
    // By scalar, because "<" and a following combining mark form one character.
    for scalar in unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      case _ where scalar.isForbiddenInXML: escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// The text for Slack's `text`, in which `<` begins links and mentions.
  var escapedForSlack: String {
    var escaped = ""
    for scalar in withoutLinks.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// The text with Discord's markup escaped.
  var escapedForDiscord: String {
    var escaped = ""
    for scalar in withoutLinks.unicodeScalars {
      if "\\*_~`|>[]()<#-+.!".unicodeScalars.contains(scalar) { escaped += "\\" }
      escaped.unicodeScalars.append(scalar)
      // Besides `allowed_mentions`: a mention that is not a word notifies nobody.
      if scalar == "@" { escaped += "\u{200B}" }
    }
    return escaped
  }

  /// The text with addresses broken, so that programs do not turn them into links.
  var withoutLinks: String { replacing("://", with: ":\u{200B}//") }

  /// The text shortened to a number of UTF-16 units, in which chat programs count.
  func shortened(to limit: Int) -> String {
    guard utf16.count > limit else { return self }
    var text = ""
    var count = 1
    for character in self {
      count += character.utf16.count
      guard count <= limit else { break }
      text.append(character)
    }
    return text + "…"
  }
}

extension Unicode.Scalar {
  /// Whether XML 1.0 forbids the scalar, or discourages it.
  fileprivate var isForbiddenInXML: Bool {
    switch value {
    case 0x9, 0xA, 0xD: false
    case 0..<0x20, 0x7F...0x9F, 0xFFFE, 0xFFFF: true
    default: value & 0xFFFE == 0xFFFE
    }
  }
}
