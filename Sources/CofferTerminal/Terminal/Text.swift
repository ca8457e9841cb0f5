import CofferCore

extension String {
  /// Returns the string with control characters, line separators, direction marks and invisible characters escaped.
  ///
  /// Use it to print file names and other foreign text, which could otherwise forge a line or reverse the text of a
  /// terminal.
  ///
  /// - Parameter limit: the maximum number of characters to return, at least 1. A longer string is truncated and ends
  ///   with an ellipsis.
  public func oneLine(limit: Int = .max) -> String {
    let escaped = escapingControlCharacters
    return escaped.count > limit ? escaped.prefix(max(0, limit - 1)) + "…" : escaped
  }

  /// Returns the string padded with trailing spaces to a width in columns. A wider string is returned unchanged.
  public func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns)) }

  /// Returns the string padded with leading spaces to a width in columns. A wider string is returned unchanged.
  public func paddedLeft(to width: Int) -> String { String(repeating: " ", count: max(0, width - columns)) + self }

  /// Returns the string with spaces replaced by newlines, so that each line has at most `width` columns.
  ///
  /// Words are never broken: a longer word is on a separate line. The no-break spaces of `glued` are parts of words.
  public func wrapped(to width: Int) -> String {
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

  /// Whether the string can be shown on a terminal: it has no control characters except tabs and line endings.
  package var isShowable: Bool {
    unicodeScalars.allSatisfy { scalar in
      scalar.properties.generalCategory != .control || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }
  }
}

extension String {
  /// The string with its indefinite article: `a STORE`, `an ADDRESS`.
  package var withArticle: String { (first.map { "AEIOUaeiou".contains($0) } ?? false ? "an " : "a ") + self }
}

/// Returns a number of bytes as text, in powers of 1,024 up to EiB: `512 B`, `1.5 KiB`.
///
/// The text of a 64-bit number has at most ten columns.
public func byteCount(_ count: some BinaryInteger) -> String {
  guard count >= 1_024 else { return "\(count) B" }
  var tenths = Double(count) / 1_024
  var unit = 0
  while tenths >= 999.95, unit < 5 {
    tenths /= 1_024
    unit += 1
  }
  let rounded = UInt64((tenths * 10).rounded())
  return "\(rounded / 10).\(rounded % 10) \(["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit])"
}

/// Returns a number with commas between groups of three digits, regardless of the locale: `1,234,567`.
public func grouped(_ number: some BinaryInteger) -> String {
  var text = ""
  for (index, digit) in String(number.magnitude).reversed().enumerated() {
    if index > 0, index % 3 == 0 { text.append(",") }
    text.append(digit)
  }
  return (number < 0 ? "-" : "") + String(text.reversed())
}

/// Returns a number with a noun, which is in the plural unless the number is 1: `1 key`, `1,234 keys`.
///
/// - Parameters:
///   - number: the number of items.
///   - noun: the noun in the singular.
///   - plural: its plural; with an `s` by default.
public func counted(_ number: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
  "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
}
