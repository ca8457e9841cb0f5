import Foundation

/// A text file of the repository, as the rules see it.
struct SourceFile: Sendable, CustomStringConvertible {
  /// The path from the top of the repository: `Sources/CofferCore/Vocabulary/Key.swift`.
  let path: String
  /// The lines as they are.
  let lines: [String]
  /// The lines with spaces in place of comments and of the text of string literals: what is left is code.
  let code: [String]

  init(path: String, text: String) {
    self.path = path
    lines = text.components(separatedBy: "\n")
    code = path.hasSuffix(".swift") ? maskingTextAndComments(text).components(separatedBy: "\n") : lines
  }

  var description: String { path }

  /// The target that the file belongs to, for a file under `Sources`.
  var target: String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
  }

  func isIn(_ folders: String...) -> Bool { folders.contains { path.hasPrefix($0 + "/") } }

  func finding(_ index: Int, _ message: String) -> Finding { Finding(path: path, line: index + 1, message: message) }

  /// A finding for every line of code that `matches`.
  func findings(_ message: String, where matches: (String) -> Bool) -> [Finding] {
    code.indices.filter { matches(code[$0]) }.map { finding($0, message) }
  }
}

/// One place where a rule is broken.
struct Finding: Hashable, Sendable, CustomStringConvertible {
  let path: String
  let line: Int
  let message: String

  var description: String { "\(path):\(line): \(message)" }
}

/// Swift text with spaces in place of comments and of what stands between quotes. Code inside `\(...)` is kept.
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

  private func isAt(_ text: String, _ offset: Int = 0) -> Bool {
    input.dropFirst(position + offset).starts(with: text.utf8)
  }

  private mutating func keep(_ count: Int = 1) {
    output += input[position..<min(position + count, input.count)]
    position += count
  }

  /// Writes spaces, keeps line ends, and counts a character of several bytes once.
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
    while position < input.count, input[position] != UInt8(ascii: "\n") { mask() }
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

  /// A slash where a value can start, and no blank after it: a division has a value before it.
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
    let marks = String(repeating: "#", count: hashes)
    let quotes = isAt("\"\"\"", hashes) ? "\"\"\"" : "\""
    keep(hashes + quotes.utf8.count)
    let isOneLine = quotes.utf8.count == 1
    while position < input.count {
      if isOneLine, isAt("\n") { return }  // not a literal after all
      if isAt(quotes + marks) { return keep(quotes.utf8.count + hashes) }
      if isAt("\\" + marks + "(") {
        mask(1 + hashes)
        keep()
        code(until: UInt8(ascii: ")"))
      } else if isAt("\\" + marks) {
        mask(2 + hashes)
      } else {
        mask()
      }
    }
  }
}
