import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite(.blocking) struct FileNameTests {
  @Test(arguments: [
    ("theme", "theme"), ("syncIntervalMinutes", "sync+interval+minutes"),
    ("user_profile-v2.json", "user_profile-v2.json"),
    ("a b", "a%20b"), ("a+b%c", "a%2bb%25c"), ("a/b", "a%2fb"), ("é", "%c3%a9"), ("e\u{301}", "e%cc%81"),
    ("\0\u{7F}\n", "%00%7f%0a"), ("a\\b:c*?\"<>|", "a%5cb%3ac%2a%3f%22%3c%3e%7c"), ("~", "%7e"), ("#a#", "%23a%23"),
    // Hidden files, and the entries `.` and `..`.
    (".", "%2e"), ("..", "%2e%2e"), ("...", "%2e.%2e"), (".coffer", "%2ecoffer"), ("../x", "%2e.%2fx"),
    // A trailing dot, which Windows drops.
    ("a.", "a%2e"), ("a..", "a.%2e"), ("a ", "a%20"), (" ", "%20"),
    // Names that shell commands would take for options.
    ("-", "%2d"), ("-rf", "%2drf"), ("a-rf", "a-rf"), ("--", "%2d-"),
    // Windows devices; the `+` for an uppercase letter makes the name harmless.
    ("con", "%63on"), ("con.txt", "%63on.txt"), ("con.", "%63on%2e"), ("com1.log", "%63om1.log"), ("lpt0", "%6cpt0"),
    ("nul", "%6eul"), ("prn.a.b", "%70rn.a.b"), ("aux", "%61ux"), ("CON", "+c+o+n"), ("Con", "+con"), ("cOn", "c+on"),
    ("console", "console"), ("co", "co"), ("com", "com"), ("com.1", "com.1"), ("com10", "com10"), ("lpt", "lpt"),
    ("nulls", "nulls"), ("a.con", "a.con"), ("con-1", "con-1"), ("comx", "comx"), ("con ", "con%20"),
  ])
  // Requirement 1.14
  func writesKeys(key: String, name: String) throws {
    let key = try KeyName(key)
    let written = FileName(key)
    #expect(written.string == name)
    #expect(!written.isHashed)
    #expect(FileName.key(of: name) == key)
    #expect(!FileName.isHashed(name))
  }

  @Test func hashesWhatIsTooLong() throws {
    let fits = try KeyName(String(repeating: "a", count: 200))
    #expect(FileName(fits).string == fits.string)
    let long = FileName(try KeyName(String(repeating: "a", count: 201)))
    #expect(long.isHashed)
    #expect(long.string.hasPrefix(String(repeating: "a", count: 100) + "%h"))
    // printf 'a%.0s' {1..201} | sha256sum
    #expect(long.string.hasSuffix("%ha92efd82109373e58f9a2056dee01e807e216ce6075f7051207c0a9f7d666e50"))
    #expect(long.string.utf8.count == 166)
    #expect(FileName.isHashed(long.string))
    #expect(FileName.key(of: long.string) == nil)
  }

  @Test(arguments: ["A", "é", "aé", "aaé", "€", "a€", "aa€", "😀", "a😀", "aa😀", "\u{800}", "a\u{10000}", ".", "aA", "%"])
  func cutsBetweenUnits(unit: String) throws {
    for repeats in [1_024 / unit.utf8.count, 170] {
      let key = try KeyName(String(repeating: unit, count: repeats))
      let name = FileName(key)
      guard name.isHashed else { continue }
      #expect(FileName.isHashed(name.string), "\(name.string)")
      #expect((98 + 66...166).contains(name.string.utf8.count))
      #expect(FileName.key(of: name.string) == nil)
    }
  }

  @Test func onlyWellFormedHashedNamesAreHashed() throws {
    let name = FileName(try KeyName("Con" + String(repeating: "x/", count: 200))).string
    #expect(FileName.isHashed(name))
    let mark = try #require(name.range(of: "%h"))
    let (prefix, hash) = (String(name[..<mark.lowerBound]), String(name[mark.upperBound...]))
    let wrong = [
      "", "%h" + hash, prefix, prefix + hash, prefix + "%h", name + "0", String(name.dropLast()),
      prefix + "%h" + hash.uppercased().replacing("0", with: "A"), prefix + "%h" + hash.dropLast() + "g",
      "x" + name, String(name.dropFirst(4)), prefix + "%H" + hash,
      // Prefixes that no key has.
      "." + prefix.dropFirst() + "%h" + hash, "-" + prefix.dropFirst() + "%h" + hash,
      "%63on." + String(repeating: "a", count: 95) + "%h" + hash,
      "%61" + String(repeating: "a", count: 97) + "%h" + hash, "%ff" + String(repeating: "a", count: 97) + "%h" + hash,
      String(repeating: "a", count: 97) + "%ff" + "%h" + hash, String(repeating: "A", count: 100) + "%h" + hash,
      String(repeating: "a", count: 99) + "+" + "%h" + hash, String(repeating: "a", count: 98) + "%6" + "%h" + hash,
      String(repeating: "a", count: 94) + "%e0%80" + "%h" + hash, String(repeating: "é", count: 50) + "%h" + hash,
    ]
    for name in wrong { #expect(!FileName.isHashed(name), "\(name)") }
    let right = [
      "%63on." + String(repeating: "a", count: 94) + "%h" + hash, String(repeating: "a", count: 97) + "%e0%h" + hash,
      String(repeating: "a", count: 94) + "%f0%90" + "%h" + hash,
      "%2e" + String(repeating: ".", count: 97) + "%h" + hash,
    ]
    for name in right { #expect(FileName.isHashed(name), "\(name)") }
  }

  @Test func evilKeysAreDistinctOnEveryFileSystem() throws {
    var names: [String] = [
      "../x", "..\\x", "a/b", "a\\b", "/", "//", "", ".", "..", ".coffer", ".hidden", "-rf", "CON", "con", "Con",
      "con.txt",
      "CON.txt", "COM1", "com1", "com1.log", "😀", "👩‍👩‍👧", "é", "e\u{301}", "É", "E\u{301}", "ﬁ", "fi", "ß", "SS", "ss",
      "ı", "i",
      "I", "İ", "K", "\u{212A}", "k", "a.", "a..", "a", "a ", "a  ", " a", "A", "aA", "Aa", "AA", "aa", "+a", "%41",
      "%61",
      "%2e", "+", "%", "%h", "%%", "%2", "a%", "a+", "++", "\u{0}", "a\u{0}", "a\u{0}b", "\n", "\r\n", "\u{202E}",
      "\u{FEFF}a",
      "key with spaces & symbols!@#$%", "\u{FFFD}", "\u{10FFFF}", "가", "\u{1100}\u{1161}", "\u{1E9B}\u{323}",
    ]
    for unit in ["a", "A", "/", ".", "é", "😀"] {
      names.append(String(repeating: unit, count: 1_024 / unit.utf8.count))
      names.append(String(repeating: unit, count: 1_024 / unit.utf8.count - 1))
      names.append("a" + String(repeating: unit, count: 1_024 / unit.utf8.count - 1))
    }
    // Names of other keys are keys too.
    names += try names.filter { !$0.isEmpty }.map { FileName(try KeyName($0)).string }
    try expectDistinct(names.filter { !$0.isEmpty }.map(KeyName.init))
  }

  @Test func randomKeysAreDistinctAndComeBack() throws {
    var random = SeededGenerator(seed: 2_026)
    let keys = try (0..<100_000).map { _ in try KeyName(random.text()) }
    try expectDistinct(keys)
  }

  private func expectDistinct(_ keys: [KeyName]) throws {
    let keys = Set(keys)
    var folded: Set<String> = []
    var problems: [String] = []
    for key in keys {
      let name = FileName(key)
      folded.insert(name.string.lowercased())
      let isRight =
        name.string.utf8.count <= 255 && name.string.allSatisfy(\.isASCII) && !name.string.hasPrefix(".")
        && !name.string.hasSuffix(".") && FileName.isHashed(name.string) == name.isHashed
        && FileName.key(of: name.string) == (name.isHashed ? nil : key)
      if !isRight { problems.append(name.string) }
    }
    #expect(problems == [])
    #expect(folded.count == keys.count)
  }

  @Test(arguments: [
    "", "%", "%2", "%2E", "%2g", "%h", "%61", "a%61", "+", "a+", "+A", "+1", "++", "A", "é", "a b", ".", "..", ".a",
    "a.", "-a",
    "con", "con.a", "lpt9", "%2d%2d", "a%2e%2e", "a%2eb", "%ff", "%c3", "%c3%28", "%ed%a0%80", "%c0%80", "%41", "a/b",
    "a\0",
    "%63", "%63on1", "%63om", "+c%6fn",
  ])
  func acceptsOnlyTheOneSpelling(name: String) { #expect(FileName.key(of: name) == nil) }

  @Test func decodingAnyBytesNeverTraps() {
    var random = SeededGenerator(seed: 7)
    let alphabet = Array("%%%++h0123456789abcdefABCxyz.-_/ \u{0}é".utf8) + [0xFF, 0xC3, 0xE0]
    for _ in 0..<50_000 {
      let bytes = (0..<random.below(300)).map { _ in alphabet[random.below(alphabet.count)] }
      let name = String(decoding: bytes, as: UTF8.self)
      if let key = FileName.key(of: name), FileName(key).string != name || FileName(key).isHashed {
        Issue.record("accepted: \(name)")
      }
      if FileName.isHashed(name), FileName.key(of: name) != nil { Issue.record("both: \(name)") }
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// Random text for a key: mostly short, often with the bytes that names escape.
  fileprivate mutating func text() -> String {
    let special = Array("aAbBcCoOnN.+%-_ /h19\u{301}é😀".unicodeScalars)
    let isPlain = below(2) == 0
    var text = ""
    for _ in 0...below(below(20) == 0 ? 250 : 24) {
      let scalar = isPlain ? special[below(special.count)] : Unicode.Scalar(UInt32(below(0x11_0000))) ?? "a"
      text.unicodeScalars.append(scalar)
    }
    return text
  }
}
