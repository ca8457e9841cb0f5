import CofferCore
import Foundation

/// Checks that keys are listed and cleared by prefixes of their bytes.
enum ListingChecks {
  static let all = [
    pages, pagesAfter, pagesOfPrefix, patternPrefixes, lastPrefixes, valuesInPages, clearAll, clearPrefix,
    clearLastPrefix, clearNothing,
  ]

  private static let listing: StoreCapabilities.Features = [.listing, .snapshots]

  private static func fill(_ bench: Bench, _ names: [String]) async throws -> [KeyName] {
    for name in names { try await bench.commit(.put(KeyName(name), bytes(name))) }
    return try names.map { try KeyName($0) }.sorted()
  }

  private static let pages = Check("pages of any size contain every key once, in order", requires: listing) { bench in
    let keys = try await fill(bench, (0..<23).map { "key/\($0)" })
    for size in [1, 2, 7, 22, 23, 24, 1_000] {
      let listed = try await bench.engine.withSnapshot { try await $0.list(pageSize: size) }.map(\.key)
      try bench.expect("the keys in pages of \(size)", listed, equals: keys)
    }
  }

  private static let pagesAfter = Check("a page starts after the given key, present or not", requires: listing) {
    bench in
    _ = try await fill(bench, ["a", "b", "ba", "c", "d"])
    for (after, expected) in [
      ("b", ["ba", "c", "d"]), ("b\0", ["ba", "c", "d"]), ("bb", ["c", "d"]), ("A", ["a", "b", "ba", "c", "d"]),
      ("d", []), ("e", []),
    ] {
      let page = try await bench.engine.withSnapshot {
        try await $0.page(prefix: nil, after: KeyName(after), limit: 10)
      }
      try bench.expect("the page after \(shown(try KeyName(after)))", page.map(\.key.string), equals: expected)
    }
  }

  private static let pagesOfPrefix = Check(
    "a prefix matches bytes, and a page can start inside it", requires: listing
  ) { bench in
    _ = try await fill(bench, ["us", "use", "user", "user/1", "user/2", "user0", "uses", "usf", "User/1", "v"])
    for (prefix, after, expected) in [
      ("user", nil, ["user", "user/1", "user/2", "user0"]), ("user/", nil, ["user/1", "user/2"]),
      ("user", "user/1", ["user/2", "user0"]), ("user", "a", ["user", "user/1", "user/2", "user0"]),
      ("user", "v", []), ("absent", nil, []), ("v", nil, ["v"]),
    ] as [(String, String?, [String])] {
      for size in [1, 2, 1_000] {
        let listed = try await bench.engine.withSnapshot { snapshot in
          try await snapshot.list(prefix: KeyName(prefix), after: try after.map { try KeyName($0) }, pageSize: size)
        }
        try bench.expect(
          "the keys of prefix '\(prefix)' after '\(after ?? "")' in pages of \(size)", listed.map(\.key.string),
          equals: expected)
      }
    }
  }

  private static let patternPrefixes = Check("a prefix is not a pattern", requires: listing) { bench in
    let names = ["%", "%a", "_", "_a", "xa", "*", "*a", "?a", "[a", "\\a", "'a", "A", "a", "ab"]
    _ = try await fill(bench, names)
    for prefix in ["%", "_", "*", "?", "[", "\\", "'", "A", "a"] {
      try await bench.expectKeys(
        names.filter { $0.utf8.starts(with: prefix.utf8) }, "of prefix '\(prefix)'", prefix: KeyName(prefix))
    }
  }

  /// Keys around the last code point of each encoded length, whose last byte has no successor in UTF-8.
  private static let lastNames = [
    "\u{10FFFE}z", "\u{10FFFF}", "\u{10FFFF}\0", "\u{10FFFF}a", "\u{10FFFF}\u{10FFFF}", "\u{10FFFF}\u{10FFFF}b", "z",
    "\u{7F}", "\u{7F}a", "\u{80}", "\u{7FF}", "\u{7FF}a", "\u{800}", "\u{FFFF}", "\u{FFFF}a", "\u{10000}", "\0", "\0a",
  ]
  private static let lastPrefixNames = ["\u{10FFFF}", "\u{10FFFF}\u{10FFFF}", "\u{7F}", "\u{7FF}", "\u{FFFF}", "\0"]

  private static let lastPrefixes = Check("a prefix that ends in the last code point is listed", requires: listing) {
    bench in
    _ = try await fill(bench, lastNames)
    for prefix in lastPrefixNames {
      try await bench.expectKeys(
        lastNames.filter { $0.utf8.starts(with: prefix.utf8) }, "of prefix \(shown(try KeyName(prefix)))",
        prefix: KeyName(prefix))
    }
  }

  private static let valuesInPages = Check("pages contain the same values as single reads", requires: listing) {
    bench in
    let keys = try await fill(bench, ["a", "b", "c", "d"])
    try await bench.commit(.put(KeyName("b"), Data()))
    try await bench.commit(.put(KeyName("c"), Data(0...255)))
    try await bench.commit(.delete(KeyName("d")))
    let listed = try await bench.engine.withSnapshot { try await $0.list(pageSize: 2) }
    let read = try await bench.engine.entries(keys).compactMap { $0 }
    try bench.expect("the entries in pages", listed, equals: read)
  }

  private static let clearAll = Check("clear removes every value", requires: listing) { bench in
    _ = try await fill(bench, KeyChecks.evil)
    try await bench.commit(.clear(prefix: nil))
    try await bench.expectKeys([], "after clear")
    try await bench.expectValue(KeyName("a"), nil, "after clear")
    try await bench.commit(.put(KeyName("new"), bytes("1")))
    try await bench.expectKeys(["new"], "after clear and a put")
  }

  private static let clearPrefix = Check("clear of a prefix leaves its neighbours", requires: listing) { bench in
    let names = ["us", "use", "user", "user/1", "user0", "user\u{10FFFF}", "uses", "usf", "USER", "%", "_ser"]
    _ = try await fill(bench, names)
    try await bench.commit(.clear(prefix: KeyName("user")))
    try await bench.expectKeys(
      names.filter { !$0.utf8.starts(with: "user".utf8) }, "after clear of prefix 'user'")
    for prefix in ["%", "_"] { try await bench.commit(.clear(prefix: KeyName(prefix))) }
    try await bench.expectKeys(["us", "use", "uses", "usf", "USER"], "after clear of prefixes '%' and '_'")
  }

  private static let clearLastPrefix = Check("clear of a prefix that ends in the last code point", requires: listing) {
    bench in
    var names = lastNames
    _ = try await fill(bench, names)
    for prefix in lastPrefixNames.reversed() {
      try await bench.commit(.clear(prefix: KeyName(prefix)))
      names.removeAll { $0.utf8.starts(with: prefix.utf8) }
      try await bench.expectKeys(names, "after clear of prefix \(shown(try KeyName(prefix)))")
    }
  }

  private static let clearNothing = Check("clear of a prefix without keys succeeds", requires: listing) { bench in
    _ = try await fill(bench, ["a", "b"])
    try await bench.commit(.clear(prefix: KeyName("absent")))
    try await bench.expectKeys(["a", "b"], "after clear of a prefix that no key has")
  }
}
