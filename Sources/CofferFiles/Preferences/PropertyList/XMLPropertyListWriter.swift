import Foundation

/// A writer of XML property lists that Foundation reads, in a fraction of the time that Foundation's takes.
struct XMLPropertyListWriter {
  private var bytes: [UInt8] = []

  /// Returns a property list with a dictionary of these entries at its root.
  static func data(_ entries: [PreferenceValue.Entry]) -> Data { XMLPropertyListLines(entries).data }

  /// Returns an entry of the dictionary at the root.
  static func line(_ name: String, _ value: PreferenceValue) -> [UInt8] {
    var writer = XMLPropertyListWriter()
    writer.add(name, value, 1)
    return writer.bytes
  }

  private mutating func add(_ text: String) { bytes += text.utf8 }

  private mutating func indent(_ depth: Int) { for _ in 0..<depth { bytes.append(UInt8(ascii: "\t")) } }

  private mutating func add(_ value: PreferenceValue, _ depth: Int) {
    indent(depth)
    switch value {
    case .string(let text): add(text, as: "string")
    case .integer(let number): add("<integer>\(number)</integer>\n")
    case .unsigned(let number): add("<integer>\(number)</integer>\n")
    case .real(let number): add("<real>\(Self.text(of: number))</real>\n")
    case .boolean(let isTrue): add(isTrue ? "<true/>\n" : "<false/>\n")
    case .date(let date): add("<date>\(XMLPropertyList.text(of: date))</date>\n")
    case .data(let data):
      add("<data>\n\(data.base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]))\n")
      indent(depth)
      add("</data>\n")
    case .array(let values):
      guard !values.isEmpty else { return add("<array/>\n") }
      add("<array>\n")
      for value in values { add(value, depth + 1) }
      indent(depth)
      add("</array>\n")
    case .dictionary(let entries):
      guard !entries.isEmpty else { return add("<dict/>\n") }
      add("<dict>\n")
      for entry in entries { add(entry.name, entry.value, depth + 1) }
      indent(depth)
      add("</dict>\n")
    }
  }

  private mutating func add(_ name: String, _ value: PreferenceValue, _ depth: Int) {
    indent(depth)
    add(name, as: "key")
    add(value, depth)
  }

  private mutating func add(_ text: String, as tag: String) {
    add("<")
    add(tag)
    add(">")
    // Runs of ordinary characters are copied as a whole.
    var rest = text.utf8[...]
    while let special = rest.firstIndex(where: { Self.entity(of: $0) != nil }),
      let entity = Self.entity(of: rest[special])
    {
      bytes += rest[..<special]
      add(entity)
      rest = rest[rest.index(after: special)...]
    }
    bytes += rest
    add("</")
    add(tag)
    add(">\n")
  }

  /// Returns the entity that stands for a character in text; `nil` for one that stands for itself.
  private static func entity(of byte: UInt8) -> String? {
    switch byte {
    case UInt8(ascii: "<"): "&lt;"
    case UInt8(ascii: ">"): "&gt;"
    case UInt8(ascii: "&"): "&amp;"
    default: nil
    }
  }

  /// The shortest digits that are read as the same number. Not-a-number has no sign: 0 divided by 0 is "-nan" in Swift.
  private static func text(of number: Double) -> String {
    if number.isNaN { return "nan" }
    guard number.isInfinite else { return "\(number)" }
    return number < 0 ? "-infinity" : "+infinity"
  }
}
