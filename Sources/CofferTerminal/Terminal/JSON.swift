/// JSON whose members keep their order.
package enum JSON {
  case text(String)
  /// A number or a word, as it is written.
  case literal(String)
  case list([JSON])
  case object([(StaticString, JSON)])

  package static let none = JSON.literal("null")
  package static func number(_ number: some BinaryInteger) -> JSON { .literal(String(number)) }
  package static func flag(_ flag: Bool) -> JSON { .literal(flag ? "true" : "false") }
  package static func optional(_ text: String?) -> JSON { text.map(JSON.text) ?? .none }

  /// One line, without its end.
  package var line: String {
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
