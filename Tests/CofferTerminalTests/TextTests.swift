import CofferTerminal
import Testing

@Suite("Text")
struct TextTests {
  @Test("Lines break between words, and only there")
  func wrapping() {
    let text = "one two /a/long/path three"
    #expect(text.wrapped(to: 8) == "one two\n/a/long/path\nthree")
    #expect(text.wrapped(to: 7) == "one two\n/a/long/path\nthree")
    #expect(text.wrapped(to: 26) == text && text.wrapped(to: 25) == "one two /a/long/path\nthree")
    #expect(text.wrapped(to: .max) == text && "  a".wrapped(to: 80) == "  a" && "".wrapped(to: 1) == "")
  }

  @Test("A misspelling is close, another word is not")
  func distances() {
    #expect(editDistance("get", "gte") == 1 && editDistance("", "ab") == 2 && editDistance("kitten", "sitting") == 3)
    #expect(suggestion(for: "rn", among: ["rm", "ls"]) == "rm")
    #expect(suggestion(for: "comp", among: ["completions", "get"]) == "completions")
    #expect(suggestion(for: "--JSNO", among: ["--json", "--store"]) == "--json")
    #expect(suggestion(for: "xyz", among: ["rm", "ls", "get"]) == nil)
  }
}
