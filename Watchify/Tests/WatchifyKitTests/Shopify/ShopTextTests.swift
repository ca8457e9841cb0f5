import Foundation
import Testing

@testable import WatchifyKit

@Suite struct ShopTextTests {
  @Test(
    "Texts of a shop are sanitized",
    arguments: [
      ("Wool Runner – 10½ “Größe”", "Wool Runner – 10½ “Größe”"), ("日本語 تيشيرت", "日本語 تيشيرت"),
      ("a\u{1B}[31mb\u{7}", "a[31mb"), ("a\u{9B}31mb", "a31mb"), ("a\nb\tc\r\nd", "a b c  d"),
      ("a\u{2028}b\u{85}c", "a b c"), ("a\u{202E}b\u{2066}c\u{200F}d\u{61C}", "abcd"),
      ("a\u{200B}b\u{FEFF}c\u{AD}d", "abcd"),
      ("x\u{E0041}\u{E007F}y", "xy"), ("می‌خواهم", "می‌خواهم"), ("👩‍👩‍👧 ❤️ 1️⃣", "👩‍👩‍👧 ❤️ 1️⃣"), ("a\u{200D}b", "ab"),
      ("می\u{200C}\u{1B}", "می"), ("\u{FFF9}a", "a"), ("", ""),
    ])
  func visible(text: String, shown: String) { #expect(ShopText.visible(text) == shown) }

  @Test("The fast path detects every special byte, at any position")
  func bytes() throws {
    for scalar in ["\u{7F}", "\u{9B}", "\u{202E}", "\u{200B}", "\\u001b", "\\u202e"] {
      for before in 0..<20 {
        let title = String(repeating: "a", count: before) + scalar + "b"
        let page = #"{"products":[{"id":1,"title":"\#(title)","handle":"h","variants":[]}]}"#
        let shown = try FeedDecoder.decode(Data(page.utf8)).products.first?.title
        #expect(shown == String(repeating: "a", count: before) + "b", "\(before)")
      }
    }
  }

  @Test("A handle remains one path component")
  func address() {
    #expect("wool-runner_2.~é日".asPathComponent == "wool-runner_2.~é日")
    #expect("../x?y#z a\"<\u{1B}%".asPathComponent == "..%2Fx%3Fy%23z%20a%22%3C%1B%25")
  }
}
