/// The sanitizer for all text from a shop: titles, handles, its name, its error messages.
///
/// ``JSONScanner`` builds every string of a feed and passes all of them through it. So no stored text, and no output on
/// a terminal, in a notification, as CSV or JSON, contains terminal control sequences, bidirectional controls or
/// invisible characters.
enum ShopText {
  /// Returns the text without control characters, bidirectional controls and other invisible characters. Line breaks
  /// and tabs become spaces.
  static func visible(_ text: String) -> String {
    guard text.utf8.contains(where: { !(0x20..<0x7F).contains($0) }) else { return text }
    let scalars = Array(text.unicodeScalars)
    var visible = String.UnicodeScalarView()
    for (index, scalar) in scalars.enumerated() {
      if isBlank(scalar) {
        visible.append(" ")
      } else if !isInvisible(scalar)
        || joins(scalar, visible.last, index + 1 < scalars.count ? scalars[index + 1] : nil)
      {
        visible.append(scalar)
      }
    }
    return String(visible)
  }

  private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09...0x0D, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar.properties.isDefaultIgnorableCodePoint
      || scalar.properties.isBidiControl || (0xFFF9...0xFFFB).contains(scalar.value)
  }

  /// Whether an invisible scalar is needed: a joiner within Persian or Indic words or emoji, or a variation selector of
  /// an emoji.
  private static func joins(_ scalar: Unicode.Scalar, _ before: Unicode.Scalar?, _ after: Unicode.Scalar?) -> Bool {
    guard let before, !before.isASCII || scalar.value == 0xFE0F else { return false }
    switch scalar.value {
    case 0x200C, 0x200D:
      return !isInvisible(before) || before.value == 0xFE0F
        ? after.map { !$0.isASCII && !isInvisible($0) } ?? false : false
    case 0xFE0E, 0xFE0F: return before.properties.isEmoji && (!before.isASCII || after?.value == 0x20E3)
    default: return false
    }
  }
}

extension String {
  /// The text as one path component of a URL: reserved characters are escaped, letters of any script are kept.
  var asPathComponent: String {
    var text = ""
    for scalar in unicodeScalars {
      let isPlain = !scalar.isASCII || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
      if isPlain || "-_.~".unicodeScalars.contains(scalar) {
        text.unicodeScalars.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        text += digits.count < 2 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return text
  }
}
