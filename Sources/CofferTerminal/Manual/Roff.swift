/// A writer of roff with the macros of man(7).
struct Roff {
  private(set) var source = ""
  private var isBelowHeading = false

  /// Writes the title of a page of section 1. In the date a dash is not escaped, since programs parse it.
  mutating func title(_ name: String, day: String, source: String) {
    line(".TH \"\(Self.escaped(name.uppercased()))\" 1 \(day) \"\(Self.escaped(source))\" \"User Commands\"")
  }

  /// Writes a line that is already escaped.
  mutating func line(_ text: String) {
    source += text + "\n"
    isBelowHeading = false
  }

  /// Writes a request or macro; its arguments are plain text.
  mutating func request(_ name: String, _ arguments: [String] = []) {
    // In an argument, a quotation mark would end it.
    let words = arguments.map { "\"" + Self.escaped($0).replacing("\"", with: "\\(dq") + "\"" }
    line(([".\(name)"] + words).joined(separator: " "))
  }

  mutating func section(_ heading: String) {
    request("SH", [heading.uppercased()])
    isBelowHeading = true
  }

  /// Writes a paragraph of plain text. If any of its lines is indented, it is a table, and its lines are kept.
  mutating func paragraph(_ text: String) {
    if !isBelowHeading { line(".P") }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let isTable = lines.contains { $0.hasPrefix(" ") }
    if isTable { line(".nf") }
    for part in lines where !part.isEmpty { line(Self.text(part)) }
    if isTable { line(".fi") }
  }

  /// Writes an entry of a list: a term, which is already escaped, and its plain meaning.
  mutating func entry(_ term: String, _ meaning: String) {
    line(".TP")
    line(term)
    line(Self.text(meaning))
  }

  /// Returns plain text as a line: without it, a leading full stop or apostrophe would begin a request.
  static func text(_ text: String) -> String {
    let escaped = escaped(text)
    return escaped.hasPrefix(".") || escaped.hasPrefix("\\(aq") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }

  /// Returns plain text whose characters roff prints as they are: a dash is not a hyphen, an apostrophe not a quotation
  /// mark.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "`": result += "\\(ga"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case "\n", "\r", "\t": result += " "
      case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value): break
      case _ where scalar.value > 0x9F: result += "\\[u\(Self.hex(scalar.value))]"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func hex(_ value: UInt32) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
