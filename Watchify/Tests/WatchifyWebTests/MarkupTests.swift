import Foundation
import FoundationXML
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

/// Texts with which a shop might try to change a page.
let attacks = [
  "<script>alert(1)</script>", "</title><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
  "' onmouseover='alert(1)", "</bdi></a><form action=//evil.example>", "&lt;script&gt;", "<!-- ", "]]>", "<![CDATA[",
  "\u{202E}evil\u{202C}", "\u{2066}\u{200F}", "\u{1B}[2J\u{1B}]0;title\u{7}", "a\u{0}b\u{8}c",
  String(decoding: [0x61, 0xEF, 0xBF, 0xBF], as: UTF8.self),
  "{{constructor.constructor('alert(1)')()}}", "<svg onload=alert(1)>", "\u{FEFF}\u{200B}", "`${alert(1)}`",
]

/// Addresses that must not become links.
private let addresses = [
  "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "data:text/html,x",
  "vbscript:x", "file:///etc/passwd", "//evil.example", "https:evil.example", "https://", "http:\\\\evil.example",
  "https://user:pass@evil.example/", "https://a.example/\u{0}", "https://a.example/ b", "blob:https://a.example/1",
  "about:blank", "",
]

@Suite("Markup") struct MarkupTests {
  /// Returns the elements and text of markup, parsed strictly.
  private func parsed(_ html: HTML) throws -> XMLDocument {
    try XMLDocument(xmlString: "<!DOCTYPE html>\n" + html.markup, options: [])
  }

  @Test("A text stays a text, whatever it contains", arguments: attacks)
  func textIsText(_ attack: String) throws {
    let html = tag(.div, .set(.ariaLabel, attack), .set(.value, attack)) {
      attack
      ShopMarkup.text(attack)
    }
    let root = try #require(try parsed(html).rootElement())
    #expect(root.name == "div")
    #expect(root.children?.compactMap { ($0 as? XMLElement)?.name } == ["bdi"])
    #expect(root.attributes?.count == 2)
    #expect(!html.markup.contains("<script") && !html.markup.contains("<img") && !html.markup.contains("\u{1B}"))
  }

  @Test("Only addresses of the web become links", arguments: addresses)
  func linksAreSafe(_ address: String) {
    #expect(Link(outside: address) == nil)
    #expect(ShopMarkup.outsideLink(address, HTML("open")).markup == "open")
  }

  @Test func webAddressesBecomeLinks() throws {
    #expect(Link(outside: "https://a.example/b?c=d&e=f")?.text == "https://a.example/b?c=d&e=f")
    let html = ShopMarkup.outsideLink("https://a.example/?x=\"><script>", HTML("open"))
    #expect(!html.markup.contains("\"><script>"))
    #expect(
      ShopMarkup.outsideLink("http://a.example/", HTML("x")).markup.contains("rel=\"noopener noreferrer external\""))
  }

  @Test("An address cannot be given as a text")
  func addressesNeedLinks() {
    #expect(Attribute.set(.href, "javascript:alert(1)").value == nil)
    #expect(Attribute.set(.src, "https://evil.example/").value == nil)
    #expect(Attribute.set(.action, "https://evil.example/").value == nil)
  }

  @Test("Components of paths are encoded")
  func pathsAreEncoded() {
    #expect(Link(["a/b", "../c", "ü"]).text == "/a%2Fb/..%2Fc/%C3%BC")
    #expect(Link(["x"], [("q", "a&b=c d")]).text == "/x?q=a%26b%3Dc%20d")
  }

  @Test("A title of 10 MB takes 255 characters and no time", .timeLimit(.minutes(1)))
  func longTitlesAreBounded() {
    for text in [String(repeating: "x", count: 10_000_000), "e" + String(repeating: "\u{301}", count: 5_000_000)] {
      let markup = ShopMarkup.text(text).markup
      #expect(markup.utf8.count < 10_000)
      #expect(markup.hasSuffix("…</bdi>"))
    }
    #expect(ShopMarkup.plain("short") == "short")
  }

  @Test(
    "A text that shows nothing has a name", arguments: ["", " \u{A0}", "\u{3164}", "\u{2800}", "\u{AD}", "\u{FE0F}"])
  func blankTexts(_ text: String) {
    #expect(ShopMarkup.text(text).markup == "<bdi>(blank)</bdi>")
  }

  @Test("Of many combining marks some are left; letters and emoji stay as they are")
  func combiningMarks() {
    let tall = "a" + String(repeating: "\u{301}", count: 300) + "bc"
    #expect(ShopMarkup.plain(tall).unicodeScalars.count == 7 && ShopMarkup.plain(tall).hasSuffix("bc"))
    for text in ["Ệ ỗ", "שָׁלוֹם", "ที่นี่", "བསྒྲུབས", "👩‍❤️‍💋‍👨"] {
      #expect(ShopMarkup.plain(text) == text)
    }
  }

  @Test(arguments: [(0.0, "0"), (1.5, "1.5"), (0.05, "0.05"), (-2.25, "-2.25"), (33.3333, "33.33"), (.nan, "0")])
  func numbersHaveTwoDecimals(_ value: Double, _ text: String) {
    #expect(Attribute.text(value) == text)
  }
}
