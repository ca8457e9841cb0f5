import CofferTerminal
import CofferTesting
import Foundation
import Testing
import WatchifyKit

@testable import Watchify

@Suite("help, completions, demo, docs/watchify.md", .serialized)
struct ProgramTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Help names every command and status, and fits a terminal")
  func help() async throws {
    let help = try await sandbox.watchify("--help")
    #expect(help.status == 0)
    for command in Command.allCases { #expect(help.text.contains("\n  \(command.rawValue) ")) }
    for status in ExitStatus.allCases { #expect(help.text.contains("\n  \(status.rawValue) ")) }
    for command in Command.allCases {
      let text = Help<Command>(style: Style(isOn: false)).text(for: command)
      #expect(text.split(separator: "\n").allSatisfy { $0.count <= 84 }, "\(text)")
    }
    #expect(try await sandbox.watchify("version", "--json").json()["name"] as? String == "watchify")
    let typo = try await sandbox.watchify("syncc", "--json")
    #expect(typo.status == 2 && typo.errors.contains("Did you mean 'sync'?"))
  }

  @Test("Completions are read by bash, and offer stores")
  func completions() async throws {
    #expect(try await sandbox.bash("source <(watchify completions) && complete -p watchify").status == 0)
  }

  @Test("The demo shows all of it, and checks itself")
  func demo() async throws {
    let ended = try await sandbox.watchify("demo", "--fast")
    #expect(ended.status == 0, "\(ended.text)")
    for words in [
      "Imported 48 products", "nothing reported", "(-30 %)", "back in stock: Regular / Sea", "Paused until",
      "Notification (terminal; there is no desktop here): Tarn & Lotus: Tarn Cork Mat: $67.90, was $97.00",
      "lowest $67.90",
      "Next: 'watchify add ADDRESS'",
    ] { #expect(ended.text.contains(words), "\(words)") }
    #expect(!FileManager.default.fileExists(atPath: sandbox.database))
    let json = try await sandbox.watchify("demo", "--json").json()
    let acts = try #require(json["acts"] as? [NSDictionary])
    #expect(json["passed"] as? Bool == true && acts.count == 8)
  }

  /// Returns the text of docs/watchify.md.
  private func manual() throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent("docs/watchify.md"), encoding: .utf8)
  }

  @Test("Help and manual use one word for syncing a shop, and say what is one row of news")
  func words() throws {
    let help = Help<Command>(style: Style(isOn: false))
    let other =
      #/
      \b(?:next|last|each|first|complete|failed|two)\s(?:reads?|checks?|look)\b
      | \blooked\b
      | \breads?\s(?:all\s|the\s)?(?:shops|stores)\b
      /#.ignoresCase()
    let texts = try Command.allCases.map { help.text(for: $0) } + WatchifySetting.all.map(\.about) + [manual()]
    for text in texts {
      let text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      let others = text.matches(of: other)
      #expect(others.isEmpty, "\(others.map { text[$0.range] })")
    }
    let row = help.text(for: .activity)
    for category in ActivityGroup.Category.allCases {
      #expect(row.contains("\(category.rawValue.lowercased())") && row.contains("A row is news of one group"))
    }
  }

  @Test("The manual shows what the program prints")
  func examples() async throws {
    func normal(_ text: String) -> String {
      text.replacing(sandbox.address.dropFirst("http://".count), with: "tarn.example")
        .replacing(#/\b[0-9a-f]{8}\b/#, with: "ID").replacing(#/\b\d\d:\d\d\b/#, with: "TIME")
        .split(separator: " ").joined(separator: " ")
    }
    let manual = normal(try manual())
    try await sandbox.followWithNews()
    let ended = [
      try await sandbox.watchify("products", "Tarn", "--search", "rain jacket", "--sort", "-price"),
      try await sandbox.watchify("activity", "--since", "7d"),
      try await sandbox.watchify("settings", "priceDropThreshold", "10%"),
    ]
    let list = try await sandbox.watchify("list").lines.dropFirst()
    let marked = try await sandbox.watchify("read", "--type", "stock").lines
    for line in list + ended.flatMap(\.lines) + marked { #expect(manual.contains(normal(line)), "\(line)") }
  }

  @Test("The page explains every command, option and status")
  func page() throws {
    let text = try manual()
    for command in Command.allCases { #expect(text.contains("watchify \(command.rawValue)"), "\(command.rawValue)") }
    for option in Command.allCases.flatMap(\.syntax.options) where option != .null {
      #expect(text.contains(option.name), "\(option.name)")
    }
    for status in ExitStatus.allCases { #expect(text.contains("\n| \(status.rawValue) |")) }
    for setting in WatchifySetting.all where !setting.name.hasPrefix("notify") {
      #expect(text.contains(setting.name), "\(setting.name)")
    }
  }
}
