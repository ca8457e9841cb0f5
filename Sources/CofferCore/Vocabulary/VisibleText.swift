extension String {
  /// The string with control characters, line separators, direction marks, tags and other invisible characters
  /// replaced by escapes, so that a key cannot forge lines of a log, reverse the text of a terminal or look like
  /// another key.
  package var escapingControlCharacters: String { escapingInvisible { _, _ in false } }

  /// The string escaped like ``escapingControlCharacters``, but with its line ends and tabs kept.
  package var escapingInLines: String {
    escapingInvisible { scalar, next in
      scalar == "\n" || scalar == "\t" || (scalar == "\r" && next == "\n")
    }
  }

  private func escapingInvisible(
    except isKept: (_ scalar: Unicode.Scalar, _ next: Unicode.Scalar?) -> Bool
  ) -> String {
    guard unicodeScalars.contains(where: \.isDeceptive) else { return self }
    let scalars = Array(unicodeScalars)
    var text = ""
    for (index, scalar) in scalars.enumerated() {
      let next = index + 1 < scalars.count ? scalars[index + 1] : nil
      let isVisible =
        !scalar.isDeceptive || isKept(scalar, next) || scalar.joins(index > 0 ? scalars[index - 1] : nil, next)
      if isVisible { text.unicodeScalars.append(scalar) } else { text += scalar.escaped(asASCII: true) }
    }
    return text
  }
}

extension Unicode.Scalar {
  fileprivate var isDeceptive: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default:
      // "Default ignorable" code points are invisible: direction marks, joiners, fillers, tags. The interlinear
      // annotation marks (U+FFF9 to U+FFFB) are invisible, too, but not in that class.
      properties.isDefaultIgnorableCodePoint || properties.isBidiControl || (0xFFF9...0xFFFB).contains(value)
    }
  }

  /// Returns whether this scalar joins its neighbours into one emoji: a joiner or a variation selector in a sequence.
  fileprivate func joins(_ before: Unicode.Scalar?, _ after: Unicode.Scalar?) -> Bool {
    guard let before else { return false }
    switch value {
    case 0x200D: return before.isPartOfEmoji && (after?.properties.isEmoji ?? false) && after?.isASCII == false
    case 0xFE0E, 0xFE0F: return before.properties.isEmoji && (!before.isASCII || after?.value == 0x20E3)
    default: return false
    }
  }

  private var isPartOfEmoji: Bool {
    value == 0xFE0F || (!isASCII && (properties.isEmoji || properties.isEmojiModifier))
  }
}
