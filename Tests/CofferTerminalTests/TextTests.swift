import CofferTerminal
import Testing

@Suite("Text")
struct TextTests {
  @Test("Lines are broken only between words")
  func wrapping() {
    let text = "one two /a/long/path three"
    #expect(text.wrapped(to: 8) == "one two\n/a/long/path\nthree")
    #expect(text.wrapped(to: 7) == "one two\n/a/long/path\nthree")
    #expect(text.wrapped(to: 26) == text && text.wrapped(to: 25) == "one two /a/long/path\nthree")
    #expect(text.wrapped(to: .max) == text && "  a".wrapped(to: 80) == "  a" && "".wrapped(to: 1) == "")
  }

  @Test("Wide characters take two columns, and a word that is too long is truncated, never broken")
  func widths() {
    #expect("abc".columns == 3 && "マット".columns == 6 && "👟 é".columns == 4 && "한국".padded(to: 6) == "한국  ")
    #expect("Quiet Hour Jacket".folded(to: 10) == ["Quiet Hour", "Jacket"])
    #expect("a incomprehensible b".folded(to: 8) == ["a", "incompr…", "b"] && "マットレス".shortened(to: 6) == "マッ…")
    #expect("SGD 220.00".glued.wrapped(to: 5).loosened == "SGD 220.00")
    #expect("was \("SGD 220.00".glued) here".wrapped(to: 12).loosened == "was\nSGD 220.00\nhere")
  }

  @Test("Numbers are grouped by three digits")
  func numbers() {
    #expect(grouped(0) == "0" && grouped(999) == "999" && grouped(1_234_567) == "1,234,567")
    #expect(grouped(-123) == "-123" && grouped(-1_234) == "-1,234" && grouped(Int.min).hasPrefix("-9,223,372,"))
    #expect(counted(1, "key") == "1 key" && counted(1_000, "key") == "1,000 keys")
    #expect(byteCount(1_023) == "1023 B" && byteCount(1_536) == "1.5 KiB" && byteCount(UInt64.max).count <= 10)
  }

  @Test("A truncated string ends with an ellipsis, however small the limit")
  func limits() {
    #expect("abcdef".oneLine(limit: 3) == "ab…" && "abc".oneLine(limit: 3) == "abc" && "a\nb".oneLine() != "a\nb")
    #expect("abc".oneLine(limit: 0) == "…" && "abc".oneLine(limit: 1) == "…" && "".oneLine(limit: 0).isEmpty)
  }

  @Test("The article matches the word")
  func articles() {
    #expect("ADDRESS".withArticle == "an ADDRESS" && "STORE".withArticle == "a STORE")
  }

  @Test("Misspellings match a candidate, other words do not")
  func distances() {
    #expect(editDistance("get", "gte") == 1 && editDistance("", "ab") == 2 && editDistance("kitten", "sitting") == 3)
    #expect(suggestion(for: "rn", among: ["rm", "ls"]) == "rm")
    #expect(suggestion(for: "comp", among: ["completions", "get"]) == "completions")
    #expect(suggestion(for: "--JSNO", among: ["--json", "--store"]) == "--json")
    #expect(suggestion(for: "xyz", among: ["rm", "ls", "get"]) == nil)
  }
}
