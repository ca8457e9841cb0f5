import CofferCore
import Foundation

/// A reader of XML property lists in the form in which Foundation, Python and this library write them, in a fraction of
/// the time that Foundation's takes. What has another form, such as a comment, is left to Foundation; what it reads, it
/// reads as Foundation does.
struct XMLPropertyListReader {
  /// The file is of another form, or no property list at all.
  private struct OtherForm: Error {}

  private let bytes: UnsafeRawBufferPointer
  private var position = 0
  /// Whether a dictionary has different names that are equal to Foundation.
  private var hasEqualNames = false

  private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Returns the value at the root of a file; `nil` for a file of another form.
  /// - Throws: `unsupported` for different names that are equal to Foundation, which would keep one of the entries.
  static func value(of file: Data) throws -> PreferenceValue? {
    try file.withUnsafeBytes { bytes in
      var reader = XMLPropertyListReader(bytes)
      let value = try? reader.document()
      guard !reader.hasEqualNames else {
        throw StorageError(
          .unsupported, "The file has two entries whose names differ only in how Unicode composes a letter.",
          advice: "Rename one of them with the program that has written them. Nothing was changed.")
      }
      return value
    }
  }

  private mutating func document() throws(OtherForm) -> PreferenceValue {
    try require(XMLPropertyList.declaration)
    skipSpace()
    if take(XMLPropertyList.documentType) { skipSpace() }
    try require(XMLPropertyList.start)
    skipSpace()
    let value = try value(0)
    skipSpace()
    try require(XMLPropertyList.end)
    skipSpace()
    guard position == bytes.count else { throw OtherForm() }
    return value
  }

  // MARK: Elements

  private mutating func value(_ depth: Int) throws(OtherForm) -> PreferenceValue {
    guard depth <= XMLPropertyList.maximumDepth else { throw OtherForm() }
    if take("<string>") { return .string(try text("</string>")) }
    if take("<integer>") { return try integer(content("</integer>")) }
    if take("<dict>") { return .dictionary(try entries(depth)) }
    if take("<array>") { return .array(try elements(depth)) }
    if take("<data>") { return .data(try data(content("</data>"))) }
    if take("<real>") { return .real(try real(content("</real>"))) }
    if take("<true/>") { return .boolean(true) }
    if take("<false/>") { return .boolean(false) }
    if take("<date>"), let date = XMLPropertyList.date(of: try content("</date>")) { return .date(date) }
    if take("<array/>") { return .array([]) }
    if take("<dict/>") { return .dictionary([]) }
    if take("<string/>") { return .string("") }
    throw OtherForm()
  }

  private mutating func elements(_ depth: Int) throws(OtherForm) -> [PreferenceValue] {
    var values: [PreferenceValue] = []
    skipSpace()
    while !take("</array>") {
      values.append(try value(depth + 1))
      skipSpace()
    }
    return values
  }

  private mutating func entries(_ depth: Int) throws(OtherForm) -> [PreferenceValue.Entry] {
    var entries: [PreferenceValue.Entry] = []
    skipSpace()
    while !take("</dict>") {
      try require("<key>")
      let name = try text("</key>")
      skipSpace()
      entries.append(PreferenceValue.Entry(name, try value(depth + 1)))
      skipSpace()
    }
    entries.sort { $0.name < $1.name }
    // Which of two entries of one name counts is up to Foundation, and one such entry alone is no dictionary to it.
    let equal = zip(entries, entries.dropFirst()).filter { $0.name == $1.name }
    if equal.contains(where: { !$0.name.utf8.elementsEqual($1.name.utf8) }) { hasEqualNames = true }
    guard equal.isEmpty, entries.count != 1 || entries[0].name != XMLPropertyList.reservedName
    else { throw OtherForm() }
    return entries
  }

  // MARK: Values

  private mutating func text(_ end: StaticString) throws(OtherForm) -> String {
    var text: [UInt8] = []
    while true {
      guard position < bytes.count else { throw OtherForm() }
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "<"):
        try require(end)
        guard let text = String(validating: text, as: UTF8.self) else { throw OtherForm() }
        return text
      case UInt8(ascii: "&"): text.append(try entity())
      case 0x09, 0x0A, 0x20..<0xEF, 0xF0...:
        text.append(byte)
        position += 1
      case 0xEF where !isSpecial:
        text.append(byte)
        position += 1
      default: throw OtherForm()  // Parsers drop or change control characters and byte order marks.
      }
    }
  }

  /// Whether U+FEFF, U+FFFE or U+FFFF is next.
  private var isSpecial: Bool {
    guard position + 2 < bytes.count else { return true }
    let next = (bytes[position + 1], bytes[position + 2])
    return next == (0xBB, 0xBF) || (next.0 == 0xBF && next.1 >= 0xBE)
  }

  private mutating func entity() throws(OtherForm) -> UInt8 {
    if take("&lt;") { return UInt8(ascii: "<") }
    if take("&gt;") { return UInt8(ascii: ">") }
    if take("&amp;") { return UInt8(ascii: "&") }
    if take("&quot;") { return UInt8(ascii: "\"") }
    if take("&apos;") { return UInt8(ascii: "'") }
    throw OtherForm()
  }

  private func integer(_ content: UnsafeRawBufferPointer) throws(OtherForm) -> PreferenceValue {
    let digits = content.dropFirst(content.first == UInt8(ascii: "-") ? 1 : 0)
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), digits.count <= 20 else {
      throw OtherForm()
    }
    let text = String(decoding: content, as: UTF8.self)
    if let number = Int64(text) { return .integer(number) }
    guard let number = UInt64(text) else { throw OtherForm() }
    return .unsigned(number)
  }

  private func real(_ content: UnsafeRawBufferPointer) throws(OtherForm) -> Double {
    switch String(decoding: content, as: UTF8.self) {
    case "+infinity": return .infinity
    case "-infinity": return -.infinity
    case "nan": return .nan
    case let text:
      let isPlain = content.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
      guard isPlain, content.count <= 32, let number = Double(text) else { throw OtherForm() }
      return number
    }
  }

  private func data(_ content: UnsafeRawBufferPointer) throws(OtherForm) -> Data {
    var text: [UInt8] = []
    text.reserveCapacity(content.count)
    for byte in content where !isSpace(byte) { text.append(byte) }
    // Foundation's two decoders disagree about what follows the padding.
    let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
    for index in 0..<text.count - padding where text[index] == UInt8(ascii: "=") { throw OtherForm() }
    guard let data = Data(base64Encoded: Data(text)) else { throw OtherForm() }
    return data
  }

  // MARK: Bytes

  /// Returns the bytes before the next tag, which must be `end`.
  private mutating func content(_ end: StaticString) throws(OtherForm) -> UnsafeRawBufferPointer {
    guard let start = bytes.baseAddress.map({ $0 + position }),
      let tag = memchr(start, CInt(UInt8(ascii: "<")), bytes.count - position)
    else { throw OtherForm() }
    let content = UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(tag) - start)
    position += content.count
    try require(end)
    return content
  }

  private mutating func skipSpace() {
    while position < bytes.count, isSpace(bytes[position]) { position += 1 }
  }

  private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x09 }

  private mutating func require(_ text: StaticString) throws(OtherForm) {
    guard take(text) else { throw OtherForm() }
  }

  /// Passes over a text if it is next.
  private mutating func take(_ text: StaticString) -> Bool {
    guard bytes.count - position >= text.utf8CodeUnitCount, let start = bytes.baseAddress,
      memcmp(start + position, text.utf8Start, text.utf8CodeUnitCount) == 0
    else { return false }
    position += text.utf8CodeUnitCount
    return true
  }
}
