/// The reason why bytes are not a page of products.
enum FeedFault: Error, Hashable, Sendable {
  /// The body is not a JSON object, but an HTML page, for example.
  case notJSON
  /// The JSON ends too early.
  case truncated
  /// The JSON is malformed or too deeply nested; `offset` is the position in bytes.
  case malformed(offset: Int)
  /// The JSON object has no list `products`.
  case noProducts
  /// The body is `{"errors": ...}`; the value is the shop's message.
  case errors(String)
  /// The decoded values would exceed the memory limit.
  case tooLarge
}

/// A pull parser for JSON in memory that builds only the requested values.
///
/// Every read is bounds-checked, so arbitrary bytes only ever throw a ``FeedFault``. Invalid UTF-8 and lone surrogates
/// become U+FFFD; control characters in strings are rejected (RFC 8259).
struct JSONScanner {
  /// The maximum nesting depth; feeds have six levels.
  static let deepest = 64

  /// The maximum length of a string in bytes; titles have at most 255 letters. Longer strings are truncated.
  static let longestText = 1_024

  let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0
  /// The approximate memory of the values built so far, in bytes; at most `room`.
  private(set) var built = 0
  private let room: Int

  init(_ bytes: UnsafeRawBufferPointer, room: Int = .max) {
    self.bytes = bytes
    self.room = room
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
  }

  /// The raw contents of a JSON string.
  struct Text {
    var range: Range<Int>
    var hasEscapes: Bool
  }

  /// Adds to the memory of built values, which may be twenty times the size of the input.
  /// - Throws: ``FeedFault/tooLarge`` beyond the limit.
  @inline(__always)
  mutating func build(_ count: Int) throws(FeedFault) {
    built &+= count
    if built > room { throw .tooLarge }
  }

  // MARK: - Grammar

  /// Returns the next non-whitespace byte without consuming it.
  @inline(__always)
  mutating func peek() throws(FeedFault) -> UInt8 {
    while offset < bytes.count {
      let byte = bytes[offset]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      offset += 1
    }
    throw .truncated
  }

  /// Consumes `byte` if it is next; returns whether it was.
  mutating func take(_ byte: UInt8) throws(FeedFault) -> Bool {
    guard try peek() == byte else { return false }
    offset += 1
    return true
  }

  mutating func expect(_ byte: UInt8) throws(FeedFault) {
    guard try take(byte) else { throw .malformed(offset: offset) }
  }

  /// Throws unless only whitespace remains.
  mutating func expectEnd() throws(FeedFault) {
    while offset < bytes.count {
      guard [0x20, 0x0A, 0x0D, 0x09].contains(bytes[offset]) else { throw .malformed(offset: offset) }
      offset += 1
    }
  }

  /// Consumes an object, calling `member` for each member, which must consume the value.
  @inline(__always)
  mutating func object(_ member: (inout JSONScanner, Text) throws(FeedFault) -> Void) throws(FeedFault) {
    try expect(UInt8(ascii: "{"))
    if try take(UInt8(ascii: "}")) { return }
    while true {
      let name = try text()
      try expect(UInt8(ascii: ":"))
      try member(&self, name)
      if try take(UInt8(ascii: "}")) { return }
      try expect(UInt8(ascii: ","))
    }
  }

  /// Consumes an array, calling `element` for each element, which must consume the value.
  @inline(__always)
  mutating func list(_ element: (inout JSONScanner) throws(FeedFault) -> Void) throws(FeedFault) {
    try expect(UInt8(ascii: "["))
    if try take(UInt8(ascii: "]")) { return }
    while true {
      try element(&self)
      if try take(UInt8(ascii: "]")) { return }
      try expect(UInt8(ascii: ","))
    }
  }

  /// Skips one value of any type.
  mutating func skip(depth: Int = 0) throws(FeedFault) {
    switch try peek() {
    case UInt8(ascii: "\""): _ = try text()
    case UInt8(ascii: "{"):
      guard depth < Self.deepest else { throw .malformed(offset: offset) }
      try object { (scanner, _) throws(FeedFault) in try scanner.skip(depth: depth + 1) }
    case UInt8(ascii: "["):
      guard depth < Self.deepest else { throw .malformed(offset: offset) }
      try list { (scanner) throws(FeedFault) in try scanner.skip(depth: depth + 1) }
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: _ = try number()
    }
  }

  private mutating func word(_ word: StaticString) throws(FeedFault) {
    for index in 0..<word.utf8CodeUnitCount {
      guard offset < bytes.count else { throw .truncated }
      guard bytes[offset] == word.utf8Start[index] else { throw .malformed(offset: offset) }
      offset += 1
    }
  }

  /// Consumes a number; returns its range of bytes.
  mutating func number() throws(FeedFault) -> Range<Int> {
    let start = offset
    if offset < bytes.count, bytes[offset] == UInt8(ascii: "-") { offset += 1 }
    let first = offset
    try digits()
    guard bytes[first] != UInt8(ascii: "0") || offset == first + 1 else { throw .malformed(offset: first) }
    if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
      offset += 1
      try digits()
    }
    if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if offset < bytes.count, bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-") { offset += 1 }
      try digits()
    }
    return start..<offset
  }

  private mutating func digits() throws(FeedFault) {
    let start = offset
    while offset < bytes.count, bytes[offset] &- UInt8(ascii: "0") < 10 { offset += 1 }
    guard offset > start else {
      if offset == bytes.count { throw .truncated }
      throw .malformed(offset: offset)
    }
  }

  // MARK: - Text

  /// Consumes a string; returns its raw contents.
  mutating func text() throws(FeedFault) -> Text {
    try expect(UInt8(ascii: "\""))
    let start = offset
    var hasEscapes = false
    while true {
      passPlainBytes()
      guard offset < bytes.count else { throw .truncated }
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        offset += 1
        return Text(range: start..<offset - 1, hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try escape()
      case 0..<0x20: throw .malformed(offset: offset)
      default: offset += 1
      }
    }
  }

  /// Advances to the next quote, backslash or control character, eight bytes at a time.
  @inline(__always)
  private mutating func passPlainBytes() {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    while offset &+ 8 <= bytes.count {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let quotes = word ^ (ones &* 0x22)
      let slashes = word ^ (ones &* 0x5C)
      // In each of the three terms only the lowest set bit is exact; higher bits may result from a carry.
      let found =
        ((quotes &- ones) & ~quotes | (slashes &- ones) & ~slashes | (word &- ones &* 0x20) & ~word) & highs
      if found != 0 {
        offset &+= found.trailingZeroBitCount / 8
        return
      }
      offset &+= 8
    }
  }

  private mutating func escape() throws(FeedFault) {
    guard offset + 1 < bytes.count else { throw .truncated }
    switch bytes[offset + 1] {
    case UInt8(ascii: "u"):
      guard offset + 6 <= bytes.count else { throw .truncated }
      for index in offset + 2..<offset + 6 where Self.hexDigit(bytes[index]) == nil {
        throw .malformed(offset: index)
      }
      offset += 6
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      offset += 2
    default: throw .malformed(offset: offset)
    }
  }

  private static func hexDigit(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  /// Returns whether a string equals `name`, byte by byte.
  @inline(__always)
  func matches(_ text: Text, _ name: StaticString) -> Bool {
    if text.hasEscapes { return string(text) == name.description }
    guard text.range.count == name.utf8CodeUnitCount else { return false }
    for index in 0..<text.range.count where bytes[text.range.lowerBound + index] != name.utf8Start[index] {
      return false
    }
    return true
  }

  /// Returns a string for display: unescaped, sanitized by ``ShopText`` and truncated to ``longestText``.
  func words(_ text: Text) -> String {
    let words = short(text)
    return !text.hasEscapes && isPlain(text.range) ? words : ShopText.visible(words)
  }

  /// Whether all bytes are printable ASCII, as in nearly all strings. Control characters below 0x20 were rejected
  /// before.
  private func isPlain(_ range: Range<Int>) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var index = range.lowerBound
    while index &+ 8 <= range.upperBound {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let deletes = word ^ (ones &* 0x7F)
      guard (word | ((deletes &- ones) & ~deletes)) & highs == 0 else { return false }
      index &+= 8
    }
    while index < range.upperBound {
      guard bytes[index] < 0x7F else { return false }
      index &+= 1
    }
    return true
  }

  private func short(_ text: Text) -> String {
    guard text.range.count > Self.longestText else { return string(text) }
    // An escape has up to six bytes per byte of text and must not be split.
    var range = text.range.prefix(Self.longestText * 6)
    if text.hasEscapes, let slash = bytes[range.suffix(12)].firstIndex(of: UInt8(ascii: "\\")) {
      range = range.lowerBound..<slash
    }
    let long = string(Text(range: range, hasEscapes: text.hasEscapes))
    var scalars = String.UnicodeScalarView()
    var count = 0
    for scalar in long.unicodeScalars {
      count += UTF8.width(scalar)
      guard count <= Self.longestText - 3 else { return String(scalars) + "…" }
      scalars.append(scalar)
    }
    return long
  }

  /// Returns a string with its escapes resolved.
  private func string(_ text: Text) -> String {
    let raw = UnsafeRawBufferPointer(rebasing: bytes[text.range])
    guard text.hasEscapes else { return String(decoding: raw, as: UTF8.self) }
    var plain: [UInt8] = []
    plain.reserveCapacity(raw.count)
    var index = 0
    while index < raw.count {
      guard raw[index] == UInt8(ascii: "\\") else {
        plain.append(raw[index])
        index += 1
        continue
      }
      switch raw[index + 1] {
      case UInt8(ascii: "u"): index = Self.appendScalar(of: raw, at: index, to: &plain)
      case let letter:
        plain.append(Self.character(escapedAs: letter))
        index += 2
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }

  private static func character(escapedAs letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: letter
    }
  }

  /// Appends the scalar of a `\uXXXX` escape or of a surrogate pair of them; returns the index after it.
  private static func appendScalar(of raw: UnsafeRawBufferPointer, at index: Int, to plain: inout [UInt8]) -> Int {
    func unit(_ at: Int) -> UInt16? {
      guard at + 6 <= raw.count, raw[at] == UInt8(ascii: "\\"), raw[at + 1] == UInt8(ascii: "u") else { return nil }
      return (at + 2..<at + 6).reduce(0 as UInt16) { $0 << 4 | (hexDigit(raw[$1]) ?? 0) }
    }
    let first = unit(index) ?? 0xFFFD
    if UTF16.isLeadSurrogate(first), let second = unit(index + 6), UTF16.isTrailSurrogate(second) {
      let scalar = 0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF))
      plain.append(contentsOf: Character(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
      return index + 12
    }
    let scalar = Unicode.Scalar(first) ?? "\u{FFFD}"
    if scalar.isASCII { plain.append(UInt8(first)) } else { plain.append(contentsOf: Character(scalar).utf8) }
    return index + 6
  }
}
