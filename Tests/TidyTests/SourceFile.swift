import Foundation

/// The folders of the packages beside the library.
let packages = ["Macros", "Watchify"]

/// A text file of the repository that rules are applied to.
struct SourceFile: Sendable, CustomStringConvertible {
  /// The path relative to the repository: `Sources/CofferCore/Vocabulary/KeyName.swift`.
  let path: String
  /// The unmodified lines.
  let lines: [String]
  /// The lines with comments and the text of string literals replaced by spaces.
  let code: [String]

  init(path: String, text: String) {
    self.path = path
    lines = text.components(separatedBy: "\n")
    code = path.hasSuffix(".swift") ? maskingTextAndComments(text).components(separatedBy: "\n") : lines
  }

  var description: String { path }

  /// The target that the file belongs to; `nil` if it is not under a package's `Sources`.
  var target: String? {
    let parts = pathInPackage.split(separator: "/")
    return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
  }

  /// The path relative to the file's package.
  private var pathInPackage: Substring {
    let package = packages.first { path.hasPrefix($0 + "/") }
    return path.dropFirst(package.map { $0.utf8.count + 1 } ?? 0)
  }

  /// Whether the file is in one of these folders of its package.
  func isIn(_ folders: String...) -> Bool { folders.contains { pathInPackage.hasPrefix($0 + "/") } }

  /// Returns the lines of code that contain one of these words: matching a pattern against all lines takes minutes.
  func code(with words: String...) -> [Int] { code.indices.filter { code[$0].hasAny(of: words) } }

  func finding(_ index: Int, _ message: String) -> Finding { Finding(path: path, line: index + 1, message: message) }

  /// Returns a finding for every line of code that contains one of these words and satisfies `matches`.
  func findings(_ message: String, with words: String..., where matches: (String) -> Bool) -> [Finding] {
    code.indices.filter { code[$0].hasAny(of: words) && matches(code[$0]) }.map { finding($0, message) }
  }
}

extension String {
  /// Whether the string contains one of these words, compared byte by byte.
  func hasAny(of words: [String]) -> Bool {
    withCString { line in words.contains { strstr(line, $0) != nil } }
  }
}

/// A violation of a rule at one line of a file.
struct Finding: Hashable, Sendable, CustomStringConvertible {
  let path: String
  let line: Int
  let message: String

  var description: String { "\(path):\(line): \(message)" }
}

/// Returns Swift source with comments and string contents replaced by spaces. Code inside `\(...)` is kept.
func maskingTextAndComments(_ text: String) -> String {
  var masker = Masker(text)
  masker.code(until: nil)
  return String(decoding: masker.output, as: UTF8.self)
}

private struct Masker {
  private let input: [UInt8]
  private var position = 0
  private(set) var output: [UInt8] = []

  init(_ text: String) {
    input = Array(text.utf8)
    output.reserveCapacity(input.count)
  }

  private func isAt(_ text: StaticString, _ offset: Int = 0) -> Bool {
    let start = position + offset
    guard start + text.utf8CodeUnitCount <= input.count else { return false }
    return input.withUnsafeBufferPointer { input in
      (0..<text.utf8CodeUnitCount).allSatisfy { input[start + $0] == text.utf8Start[$0] }
    }
  }

  /// Whether `count` number signs follow.
  private func hasHashes(_ count: Int, _ offset: Int) -> Bool {
    input.dropFirst(position + offset).prefix(count).elementsEqual(repeatElement(UInt8(ascii: "#"), count: count))
  }

  private mutating func keep(_ count: Int = 1) {
    output += input[position..<min(position + count, input.count)]
    position += count
  }

  /// Writes one space for each character, however many bytes it has, and keeps line ends.
  private mutating func mask(_ count: Int = 1) {
    for byte in input[position..<min(position + count, input.count)] where byte & 0xC0 != 0x80 {
      output.append(byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " "))
    }
    position += count
  }

  /// Copies code up to the end, or through the parenthesis that ends an interpolation.
  mutating func code(until end: UInt8?) {
    var depth = 0
    while position < input.count {
      let byte = input[position]
      switch byte {
      case UInt8(ascii: "/") where isAt("//"): maskLine()
      case UInt8(ascii: "/") where isAt("/*"): blockComment()
      case UInt8(ascii: "/") where isRegexStart: regex()
      case UInt8(ascii: "\""): literal(hashes: 0)
      case UInt8(ascii: "#"):
        let hashes = input[position...].prefix { $0 == byte }.count
        if isAt("\"", hashes) { literal(hashes: hashes) } else { keep(hashes) }
      case UInt8(ascii: "("):
        depth += 1
        keep()
      case UInt8(ascii: ")"):
        depth -= 1
        keep()
        if depth < 0, byte == end { return }
      default: keep()
      }
    }
  }

  private mutating func maskLine() {
    mask((input[position...].firstIndex(of: UInt8(ascii: "\n")) ?? input.count) - position)
  }

  private mutating func blockComment() {
    var depth = 0
    while position < input.count {
      if isAt("/*") {
        depth += 1
      } else if isAt("*/") {
        depth -= 1
      } else {
        mask()
        continue
      }
      mask(2)
      if depth == 0 { return }
    }
  }

  /// Whether a regex literal starts here: where a value can start, with no blank after the slash.
  private var isRegexStart: Bool {
    let before = output.last { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") }
    return "(,=:[{".utf8.contains(before ?? UInt8(ascii: "{")) && !isAt("/ ")
  }

  private mutating func regex() {
    keep()
    while position < input.count, input[position] != UInt8(ascii: "\n") {
      if isAt("/") { return keep() }
      mask(isAt("\\") ? 2 : 1)
    }
  }

  private mutating func literal(hashes: Int) {
    let quotes = isAt("\"\"\"", hashes) ? 3 : 1
    keep(hashes + quotes)
    while position < input.count {
      switch input[position] {
      case UInt8(ascii: "\n") where quotes == 1: return  // not a literal after all
      case UInt8(ascii: "\"") where (quotes == 1 || isAt("\"\"\"")) && hasHashes(hashes, quotes):
        return keep(quotes + hashes)
      case UInt8(ascii: "\\") where hasHashes(hashes, 1) && isAt("(", 1 + hashes):
        mask(1 + hashes)
        keep()
        code(until: UInt8(ascii: ")"))
      case UInt8(ascii: "\\") where hasHashes(hashes, 1): mask(2 + hashes)
      default: mask()
      }
    }
  }
}
