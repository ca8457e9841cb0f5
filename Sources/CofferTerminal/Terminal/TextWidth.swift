/// Measuring and fitting text to the columns of a terminal.
extension String {
  /// The number of columns that the string occupies on one line of a terminal.
  ///
  /// East Asian characters and emoji occupy two columns, all others one. Escape sequences are not recognised: measure
  /// before styling.
  public var columns: Int {
    // Counting bytes is faster than counting characters, and each ASCII byte is one column.
    utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.columns }
  }

  /// The string with its spaces replaced by no-break spaces (U+00A0), for an amount with its currency or a number with
  /// its unit. `loosened` restores the spaces after the text has been wrapped.
  public var glued: String { replacing(" ", with: "\u{A0}") }

  /// The string with no-break spaces (U+00A0) replaced by ordinary spaces, ready to be printed.
  public var loosened: String { replacing("\u{A0}", with: " ") }

  /// Returns the string, truncated and ended with an ellipsis if it has more than `width` columns.
  package func shortened(to width: Int) -> String {
    guard columns > width else { return self }
    var text = ""
    var room = width - 1
    for character in self {
      room -= character.columns
      guard room >= 0 else { break }
      text.append(character)
    }
    return width > 0 ? text + "…" : ""
  }

  /// Returns the string as lines of at most `width` columns, broken between words. A longer word is truncated and ends
  /// with an ellipsis.
  public func folded(to width: Int) -> [String] {
    guard columns > width else { return [self] }
    var lines: [String] = []
    var line = ""
    for word in split(separator: " ") {
      let word = String(word).shortened(to: width)
      if line.isEmpty {
        line = word
      } else if line.columns + 1 + word.columns <= width {
        line += " " + word
      } else {
        lines.append(line)
        line = word
      }
    }
    return lines + [line]
  }
}

extension Character {
  /// The scalars that terminals draw two columns wide (Unicode `EastAsianWidth`), except emoji.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
    0x1F900...0x1F9FF, 0x20000...0x3FFFD,
  ]

  fileprivate var columns: Int {
    guard let first = unicodeScalars.first, first.value >= 0x1100 else { return 1 }
    if first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") { return 2 }
    return Self.wide.contains { $0.contains(first.value) } ? 2 : 1
  }
}
