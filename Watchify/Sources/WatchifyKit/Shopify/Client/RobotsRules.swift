import Foundation

/// The rules of a robots.txt (RFC 9309) that apply to a user agent: those of the groups that name it, otherwise those
/// for all.
struct RobotsRules: Hashable, Sendable {
  private struct Rule: Hashable {
    var pattern: [UInt8]
    var allows: Bool
  }

  /// Rules that allow everything.
  static let allowingAll = RobotsRules(rules: [])
  /// The maximum size in bytes; the rest of a larger file is ignored.
  static let largestBody = 512 * 1024

  private var rules: [Rule]

  private init(rules: [Rule]) { self.rules = rules }

  /// Parses the rules in `text` that apply to the product token `agent`, such as "Watchify".
  init(_ text: String, agent: String) {
    var own: [Rule] = []
    var general: [Rule] = []
    var (isOwn, isGeneral, isNamed, isInRules) = (false, false, false, false)
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.prefix { $0 != "#" }
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      switch line[..<colon].trimmingCharacters(in: .whitespaces).lowercased() {
      case "user-agent":
        // Consecutive user-agent lines share the rules that follow.
        if isInRules { (isOwn, isGeneral, isInRules) = (false, false, false) }
        if value == "*" { isGeneral = true }
        if value.prefix(while: { $0.isLetter || $0 == "-" || $0 == "_" }).lowercased() == agent.lowercased() {
          (isOwn, isNamed) = (true, true)
        }
      case let name where name == "allow" || name == "disallow":
        isInRules = true
        guard !value.isEmpty else { continue }
        let rule = Rule(pattern: Self.normalized(value), allows: name == "allow")
        if isOwn { own.append(rule) }
        if isGeneral { general.append(rule) }
      default: continue
      }
    }
    rules = isNamed ? own : general
  }

  /// Returns whether a path with its query may be requested. The longest matching rule applies; of two of equal length,
  /// the one that allows.
  func allows(_ path: String) -> Bool {
    let path = Self.normalized(path)
    let best = rules.filter { Self.matches(path, $0.pattern) }
      .max { ($0.pattern.count, $0.allows ? 1 : 0) < ($1.pattern.count, $1.allows ? 1 : 0) }
    return best?.allows ?? true
  }

  /// Returns the path with non-ASCII bytes escaped and upper-case percent escapes, so that two spellings compare equal.
  private static func normalized(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var escape = 0
    for byte in text.utf8 {
      if byte >= 0x80 {
        bytes += String(format: "%%%02X", Int(byte)).utf8
      } else if escape > 0, (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) {
        bytes.append(byte - 0x20)
      } else {
        bytes.append(byte)
      }
      escape = byte == UInt8(ascii: "%") ? 2 : max(0, escape - 1)
    }
    return bytes
  }

  /// Returns whether `pattern` matches the beginning of `path`; `*` matches any bytes, a final `$` the end of the path.
  private static func matches(_ path: [UInt8], _ pattern: [UInt8]) -> Bool {
    var pattern = pattern[...]
    let isAnchored = pattern.last == UInt8(ascii: "$")
    if isAnchored { pattern.removeLast() } else { pattern.append(UInt8(ascii: "*")) }
    // After a mismatch only the last star is extended, which is sufficient and bounds the work by O(path × pattern).
    var (at, index) = (0, pattern.startIndex)
    var star: (index: Int, at: Int)?
    while at < path.count {
      if index < pattern.endIndex, pattern[index] == UInt8(ascii: "*") {
        star = (index, at)
        index += 1
      } else if index < pattern.endIndex, pattern[index] == path[at] {
        (at, index) = (at + 1, index + 1)
      } else if let last = star {
        star = (last.index, last.at + 1)
        (at, index) = (last.at + 1, last.index + 1)
      } else {
        return false
      }
    }
    return pattern[index...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
