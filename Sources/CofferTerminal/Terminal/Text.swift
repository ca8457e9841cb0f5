import CofferCore

extension String {
  /// The string with everything escaped that could forge a line, turn a terminal's text around or is not seen.
  package func oneLine(limit: Int = .max) -> String {
    let escaped = escapingControlCharacters
    return escaped.count > limit ? escaped.prefix(limit - 1) + "…" : escaped
  }

  /// The string with blanks after it, up to a width.
  package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns)) }

  /// The string with blanks before it, up to a width.
  package func paddedLeft(to width: Int) -> String { String(repeating: " ", count: max(0, width - columns)) + self }

  /// The string with a line end in place of the last blank before each `width` columns; no word is broken.
  package func wrapped(to width: Int) -> String {
    var text = ""
    var column = 0
    for (index, word) in split(separator: " ", omittingEmptySubsequences: false).enumerated() {
      let count = String(word).columns
      if column > 0, count >= width - column {
        text += "\n"
        column = 0
      } else if index > 0 {
        text += " "
        column += 1
      }
      text += word
      column += count
    }
    return text
  }

  /// Whether it is text, which a terminal can show: no control characters but those of ordinary text.
  package var isShowable: Bool {
    unicodeScalars.allSatisfy { scalar in
      scalar.properties.generalCategory != .control || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }
  }
}

extension String {
  /// `a STORE`, `an ADDRESS`
  package var withArticle: String { (first.map { "AEIOUaeiou".contains($0) } ?? false ? "an " : "a ") + self }
}

/// `1.5 KiB`: never more than ten columns.
package func byteCount(_ count: some BinaryInteger) -> String {
  guard count >= 1_024 else { return "\(count) B" }
  var tenths = Double(count) / 1_024
  var unit = 0
  while tenths >= 999.95, unit < 4 {
    tenths /= 1_024
    unit += 1
  }
  let rounded = UInt64((tenths * 10).rounded())
  return "\(rounded / 10).\(rounded % 10) \(["KiB", "MiB", "GiB", "TiB", "PiB"][unit])"
}

/// `1,234,567`
package func grouped(_ number: some BinaryInteger) -> String {
  var text = ""
  for (index, digit) in String(number).reversed().enumerated() {
    if index > 0, index % 3 == 0 { text.append(",") }
    text.append(digit)
  }
  return String(text.reversed())
}

/// `1 key`, `2 keys`
package func counted(_ number: some BinaryInteger, _ noun: String) -> String {
  "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
}
