import CofferProcessTesting
import CofferTerminal
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
    #expect(try await sandbox.bash("source <(watchify completions bash) && complete -p watchify").status == 0)
    for shell in ["zsh", "fish"] { #expect(try await sandbox.watchify("completions", shell).text.contains("watchify")) }
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

  @Test("The page explains every command, option and status")
  func page() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("docs/watchify.md"), encoding: .utf8)
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
