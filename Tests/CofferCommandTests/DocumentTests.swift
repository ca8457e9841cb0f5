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

  @Test("The tour is true")
  func tour() async throws {
    let sandbox = try Sandbox()
    let lines = try Self.document()
    let start = try #require(lines.firstIndex(of: "```console")) + 1
    let end = try #require(lines[start...].firstIndex(of: "```"))
    // One shell runs all of it and repeats each command before what it prints.
    let script = lines[start..<end].filter { $0.hasPrefix("$ ") }.map { line in
      let command = line.dropFirst(2)
      return "status=$?; printf '%s\\n' '$ \(command.replacing("'", with: #"'\''"#))'; (exit $status); \(command)"
    }
    try sandbox.write(Data(script.joined(separator: "\n").utf8), to: "tour.sh")
    let ended = try await sandbox.bash(
      "bash tour.sh 2>&1", environment: [(name: "COFFER_STORE", value: sandbox.path("tour.db"))])
    var shown = ended.text.replacing(sandbox.url.resolvingSymlinksInPath().path, with: "/tmp")
    // `get` of a value without a line end leaves the next command on its line, unlike on a terminal.
    shown = shown.replacing("dark$ ", with: "dark\n$ ")
    #expect(shown == lines[start..<end].joined(separator: "\n") + "\n")
  }

  @Test("Every command and exit status is explained")
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

  @Test("The doctor's table has a line for each fault that the tests inject")
  func faults() throws {
    let text = try Self.document().joined(separator: "\n")
    for fault in DoctorTests.systemFaults + DoctorTests.storesFaults + DoctorTests.sealedFaults
    where fault.verdict != "ok" && fault.stores != ["prefs:a/b"] {
      // What differs from machine to machine is not compared: paths and numbers.
      let parts = fault.message.split(separator: /ROOT\S*|\d\S*|[()]|file:\S+/)
      let longest = parts.map { $0.trimmingCharacters(in: .whitespaces) }.max { $0.count < $1.count } ?? ""
      #expect(text.contains(longest), "\(fault.message)")
    }
  }
}
