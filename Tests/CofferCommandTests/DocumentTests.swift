import Coffer
import CofferTerminal
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

@Suite("docs/cli.md")
struct DocumentTests {
  private static func document() throws -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent("docs/cli.md"), encoding: .utf8)
      .components(separatedBy: "\n")
  }

  @Test("The tour prints what the document shows")
  func tour() async throws {
    let sandbox = try Sandbox()
    let lines = try Self.document()
    let start = try #require(lines.firstIndex(of: "```console")) + 1
    let end = try #require(lines[start...].firstIndex(of: "```"))
    // One shell runs all commands and prints each one before its output.
    let script = lines[start..<end].filter { $0.hasPrefix("$ ") }.map { line in
      let command = line.dropFirst(2)
      return "status=$?; printf '%s\\n' '$ \(command.replacing("'", with: #"'\''"#))'; (exit $status); \(command)"
    }
    try sandbox.write(Data(script.joined(separator: "\n").utf8), to: "tour.sh")
    let ended = try await sandbox.bash(
      "bash tour.sh 2>&1", environment: [(name: "COFFER_STORE", value: sandbox.path("tour.db"))])
    var shown = ended.text.replacing(sandbox.url.resolvingSymlinksInPath().path, with: "/tmp")
    // Without a terminal, `get` adds no line end, so the next command follows on the same line.
    shown = shown.replacing("dark$ ", with: "dark\n$ ")
    #expect(shown == lines[start..<end].joined(separator: "\n") + "\n")
  }

  @Test("Every command, exit status, option and kind of store is documented")
  func complete() throws {
    let text = try Self.document().joined(separator: "\n")
    for command in Command.allCases { #expect(text.contains("`coffer \(command.rawValue)")) }
    for status in ExitStatus.allCases where !status.meaning.isEmpty {
      #expect(text.contains("\n| \(status.rawValue) | \(status.meaning.prefix(20))"))
    }
    for option in Command.allCases.flatMap(\.syntax.allOptions) where ![.help, .null, .yes].contains(option) {
      #expect(text.contains(option.name), "\(option.name)")
    }
    for kind in StoreLocation.kinds { #expect(text.contains("`\(kind.0.prefix { $0 != "," })`")) }
  }
}
