/// A JSON value for output. The members of objects keep their order.
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
  /// A number or keyword, which is written without change.
  case literal(String)
  /// An array of values.
  case list([JSON])
  /// An object. Its members are written in this order and their names without change, so names must be unique and must
  /// not contain quotes, backslashes or control characters.
  case object([(StaticString, JSON)])

  /// The literal `null`.
  public static let none = JSON.literal("null")

  /// Creates an integer of any size.
  public static func number(_ number: some BinaryInteger) -> JSON { .literal(String(number)) }

  /// Creates `true` or `false`.
  public static func flag(_ flag: Bool) -> JSON { .literal(flag ? "true" : "false") }

  /// Creates a string, or `null` for `nil`.
  public static func optional(_ text: String?) -> JSON { text.map(JSON.text) ?? .none }

  /// The JSON text on one line, without insignificant whitespace and without a newline.
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
