import CofferCore

extension String {
  /// Returns the string with everything escaped that could forge a line, turn a terminal's text around or is not seen.
  ///
  /// Print names of files and other people's text through it: control characters, line separators, marks of writing
  /// direction and invisible characters are escaped.
  ///
  /// - Parameter limit: the number of characters to return at most, at least 1. An ellipsis takes the place of what is
  ///   cut off.
  public func oneLine(limit: Int = .max) -> String {
    let escaped = escapingControlCharacters
    return escaped.count > limit ? escaped.prefix(max(0, limit - 1)) + "…" : escaped
  }

  /// Returns the string with blanks after it, up to a width in columns. A wider string stays as it is.
  public func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns)) }

  /// Returns the string with blanks before it, up to a width in columns. A wider string stays as it is.
  public func paddedLeft(to width: Int) -> String { String(repeating: " ", count: max(0, width - columns)) + self }

  /// Returns the string with line ends in place of blanks, so that each line has at most `width` columns.
  ///
  /// Words are never broken: a longer one has a line for itself. Blanks that `glued` has made are parts of words.
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

/// Returns a number of bytes for people, in powers of 1,024 up to EiB: `512 B`, `1.5 KiB`.
///
/// A number of 64 bits takes at most ten columns.
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

/// Returns a number with commas between groups of three digits, in every locale: `1,234,567`.
public func grouped(_ number: some BinaryInteger) -> String {
  var text = ""
  for (index, digit) in String(number.magnitude).reversed().enumerated() {
    if index > 0, index % 3 == 0 { text.append(",") }
    text.append(digit)
  }
  return (number < 0 ? "-" : "") + String(text.reversed())
}

/// Returns a number and a noun, with an `s` unless the number is 1: `1 key`, `1,234 keys`.
///
/// - Parameters:
///   - number: how many there are.
///   - noun: the noun in the singular; one whose plural needs only an `s`.
public func counted(_ number: some BinaryInteger, _ noun: String) -> String {
  "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
}
