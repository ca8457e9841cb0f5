/// JSON for output, whose members keep their order.
///
/// ```swift
/// try print(
///   .object([
///     ("name", .text(note.name)), ("bytes", .number(note.size)), ("isLocked", .flag(note.isLocked)),
///     ("tags", .list(note.tags.map(JSON.text))), ("owner", .optional(note.owner)),
///   ]))
/// // {"name":"today","bytes":12,"isLocked":false,"tags":["a"],"owner":null}
/// ```
public enum JSON: Sendable {
  /// A string. Quotes, backslashes and ASCII control characters are escaped when it is written.
  case text(String)
  /// A number or a word, which is written as it is.
  case literal(String)
  /// An array.
  case list([JSON])
  /// An object. The names of members are written as they are, in this order: give each once, without quotes,
  /// backslashes and control characters in it.
  case object([(StaticString, JSON)])

  /// `null`
  public static let none = JSON.literal("null")

  /// Creates a whole number, of any size.
  public static func number(_ number: some BinaryInteger) -> JSON { .literal(String(number)) }

  /// Creates `true` or `false`.
  public static func flag(_ flag: Bool) -> JSON { .literal(flag ? "true" : "false") }

  /// Creates a string, or `null`.
  public static func optional(_ text: String?) -> JSON { text.map(JSON.text) ?? .none }

  /// The JSON as one line without blanks and without a line end.
  public var line: String {
    var text = ""
    write(into: &text)
    return text
  }

  private func write(into output: inout String) {
    switch self {
    case .literal(let literal): output += literal
    case .text(let text): Self.write(text, into: &output)
    case .list(let list):
      output += "["
      for (index, item) in list.enumerated() {
        if index > 0 { output += "," }
        item.write(into: &output)
      }
      output += "]"
    case .object(let members):
      output += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { output += "," }
        output += "\"\(member.0)\":"
        member.1.write(into: &output)
      }
      output += "}"
    }
  }

  private static func write(_ text: String, into output: inout String) {
    output += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": output += "\\\""
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\r": output += "\\r"
      case "\t": output += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: output.unicodeScalars.append(scalar)
      }
    }
    output += "\""
  }
}
