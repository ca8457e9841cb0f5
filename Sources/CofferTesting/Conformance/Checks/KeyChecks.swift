import CofferCore
import Foundation

/// Checks that every string of 1 to 1,024 bytes is a valid key, and that keys are compared by their bytes.
enum KeyChecks {
  static let all = [distinct, deletedAlone, listed, unicodeForms, invalid]

  /// Keys with special meaning to file systems, databases, patterns or Swift's `String`.
  static let evil: [String] =
    [
      "../x", "../../etc/passwd", "a/b", "a//b", "/", "//", "/a", ".", "..", "...", "~", "a\\b", "C:\\x",
      "CON", "con", "nul", "NUL", "nul.txt", "aux.", "name.", "name", "name:stream", "-rf", "*", "?",
      "a\0b", "a\0", "a", "\0", "\u{1}", "\u{7F}", "line\nbreak", "line\r\nbreak", "\t", " ", "  ", " x", "x ", "x",
      "\u{FEFF}x", "\u{200B}", "\u{202E}abc", "Key", "KEY", "key", "kEy", "\u{1F600}", "\u{1F468}\u{200D}\u{1F469}",
      "caf\u{E9}", "cafe\u{301}", "caff", "\u{DF}", "ss", "SS", "\u{130}", "i", "I", "\u{131}", "\u{212B}", "\u{C5}",
      "%", "%2F", "%2f", "%00", "%%", "a%b", "_", "a_b", "axb", "'", "''", "\"", "`", "'; DROP TABLE entries; --",
      "1 OR 1=1", "NULL", "null", "0", "00", "1e1", "10", "true", "{\"a\":1}", "<xml/>", "$(id)", "${HOME}", "\\0",
      "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "\u{E000}", "\u{D7FF}",
      String(repeating: "n", count: 255), String(repeating: "n", count: 256),
      String(repeating: "k", count: 1_024), String(repeating: "k", count: 1_023),
      String(repeating: "\u{1F600}", count: 256), String(repeating: "/", count: 1_024),
    ]

  private static func keys() throws -> [KeyName] { try evil.map { try KeyName($0) } }

  private static let distinct = Check("unusual keys are valid and distinct") { bench in
    let keys = try keys()
    for (number, key) in keys.enumerated() { try await bench.commit(.put(key, bytes("\(number)"))) }
    for (number, key) in keys.enumerated() {
      try await bench.expectValue(key, bytes("\(number)"), "after \(keys.count) unusual keys were put")
    }
  }

  private static let deletedAlone = Check("deleting an unusual key affects no other key") { bench in
    let keys = try keys()
    for (number, key) in keys.enumerated() { try await bench.commit(.put(key, bytes("\(number)"))) }
    for key in keys.enumerated() where key.offset.isMultiple(of: 2) { try await bench.commit(.delete(key.element)) }
    for (number, key) in keys.enumerated() {
      let value = number.isMultiple(of: 2) ? nil : bytes("\(number)")
      try await bench.expectValue(key, value, "after every other unusual key was deleted")
    }
  }

  private static let listed = Check(
    "unusual keys are listed byte for byte, in the order of their bytes", requires: [.listing, .snapshots]
  ) { bench in
    let keys = try keys()
    for key in keys { try await bench.commit(.put(key, bytes("v"))) }
    let listed = try await bench.keys()
    try bench.expect("the number of keys", listed.count, equals: keys.count)
    for (actual, expected) in zip(listed, keys.sorted()) {
      try bench.expect("the next key", actual, equals: expected)
    }
  }

  private static let unicodeForms = Check("composed and decomposed forms of a word are distinct keys") { bench in
    let composed = KeyName("caf\u{E9}")
    let decomposed = KeyName("cafe\u{301}")
    try await bench.commit(.put(composed, bytes("composed")))
    try await bench.expectValue(decomposed, nil, "when only the composed form was put")
    try await bench.commit(.put(decomposed, bytes("decomposed")))
    try await bench.expectValue(composed, bytes("composed"), "after the decomposed form was put")
    try await bench.commit(.delete(composed))
    try await bench.expectValue(decomposed, bytes("decomposed"), "after the composed form was deleted")
  }

  private static let invalid = Check("an empty key and one of 1,025 bytes are invalid") { bench in
    // `KeyName` rejects such keys before an engine is called, also on behalf of an adapter.
    try await bench.expect(.invalidKey, from: "an empty key") {
      try await bench.commit(.put(KeyName(String()), bytes("v")))
    }
    try await bench.expect(.invalidKey, from: "a key of 1,025 bytes") {
      try await bench.engine.entry(KeyName(String(repeating: "k", count: 1_025)))
    }
    let latest = try bench.engine.latestRevision
    try bench.expect("the revision after both were refused", latest, equals: bench.initialRevision)
  }
}
