import CofferTerminal
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import Watchify

@Suite("Output on terminals of several widths", .serialized)
struct LayoutTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Returns the words of a line.
  private func words(_ text: String) -> [String] { text.split { $0 == " " || $0.isNewline }.map(String.init) }

  @Test("Nothing is wider than the terminal, and no word and no price is broken", arguments: [40, 80, 200])
  func widths(_ width: Int) async throws {
    let long = "Very Long Title Of A Mat That Nobody Has Cut And Whose End Must Be Readable Somewhere"
    let first = ReplayTimeline.demoShop.product(0).id
    try sandbox.shop.update { feed in try feed.update(first) { $0.title = long } }
    try await sandbox.followWithNews()
    let lines = ["list", "products Tarn", "activity", "settings", "product Tarn tarn-cork-mat", "audit"]
    for line in lines {
      let piped = try await sandbox.bash("watchify \(line)")
      let running = try sandbox.terminal("stty cols \(width); watchify \(line)")
      let shown = try await running.ended()
      #expect(shown.status == 0 && !shown.text.isEmpty, "\(line): \(shown.text)")
      let plain = shown.text.replacing(/\u{1B}\[\d+m/, with: "")
      let known = Set(words(piped.text) + words(piped.text.lowercased()))
      for row in plain.split(whereSeparator: \.isNewline) {
        // An address is never truncated, so that it can be clicked.
        let isAddress = words(String(row)).count == 1 && row.contains("http://")
        #expect(row.count <= width || isAddress, "\(line): \(row)")
        guard !line.hasPrefix("product ") else { continue }
        for word in words(String(row)) { #expect(known.contains(word), "\(line) breaks '\(word)'") }
      }
      if line == "products Tarn" { #expect(piped.text.contains(long + "  "), "titles are whole in a pipe") }
    }
  }

  @Test("A long title is truncated, a price never is")
  func absurd() async throws {
    let first = ReplayTimeline.demoShop.product(0)
    try sandbox.shop.update { feed in
      try feed.update(first.id) { $0.title = String(repeating: "endless ", count: 9_000) }
    }
    try await sandbox.follow()
    for line in ["products Tarn", "product Tarn \(first.handle)"] {
      let ended = try await sandbox.bash("watchify \(line)")
      #expect(ended.status == 0 && ended.lines.allSatisfy { $0.count < 500 }, "\(line)")
      #expect(ended.text.contains("…") && ended.text.contains(/\$\d+\.\d\d/))
    }
  }

  @Test("Texts are wrapped first, then rows become records; amounts with a space are not broken")
  func columns() {
    var columns = Columns(.text, .right, .left, heading: ["NAME", "PRICE", "SHELF"])
    columns.add(["Quiet Hour Rain Jacket For Two", "SGD 220.00", "quiet-hour"])
    let style = Style(isOn: false)
    #expect(
      columns.lines(style, width: 44) == [
        "NAME                       PRICE  SHELF", "Quiet Hour Rain       SGD 220.00  quiet-hour\nJacket For Two",
      ])
    #expect(
      columns.lines(style, width: 30) == [
        "Quiet Hour Rain Jacket For\nTwo\n  price SGD 220.00\n  shelf quiet-hour"
      ])
    #expect(columns.lines(style).count == 2 && columns.lines(style)[1].contains("Jacket For Two  SGD 220.00  quiet"))
    var texts = Columns(.left, .text)
    texts.add(["14:32", "price down \("SGD 220.00".glued) -> \("SGD 198.00".glued) \("(-10 %)".glued)"])
    for width in 24..<60 {
      let text = texts.lines(style, width: width).joined()
      for amount in ["SGD 220.00", "SGD 198.00", "(-10 %)"] { #expect(text.contains(amount), "\(width): \(text)") }
    }
  }
}
