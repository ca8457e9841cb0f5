import CofferCore
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite(.timeLimit(.minutes(15)))
struct TerminalChannelTests {
  private func written(
    _ title: String, _ body: String, _ priority: NotificationPriority = .active, isTerminal: Bool = true
  ) async throws -> String {
    let lines = Locked("")
    let channel = TerminalChannel(isTerminal: isTerminal) { line in lines.withLock { $0 += line } }
    #expect(channel.name == "terminal")
    try await channel.deliver(
      NotificationContent(title: title, body: body, threadIdentifier: "s", priority: priority))
    return lines.withLock { $0 }
  }

  @Test func oneLine() async throws {
    #expect(try await written("Allbirds", "3 price drops") == "Allbirds: 3 price drops\n")
    #expect(try await written("Allbirds", "") == "Allbirds\n")
    #expect(try await written("Kürbis & Söhne 👟", "<b>") == "Kürbis & Söhne 👟: <b>\n")
  }

  @Test func theBellIsForTimeSensitiveNewsOnATerminal() async throws {
    #expect(try await written("A", "b", .timeSensitive) == "\u{7}A: b\n")
    #expect(try await written("A", "b", .timeSensitive, isTerminal: false) == "A: b\n")
    #expect(try await written("A", "b", .passive) == "A: b\n")
  }

  @Test func nothingThatATerminalObeys() async throws {
    #expect(
      try await written("A\u{1B}]0;x\u{7}", "1\n2\r\t\u{9B}31m\u{2028}\u{202E}\u{7F}")
        == "A\\u{1b}]0;x\\u{7}: 1\\n2\\r\\t\\u{9b}31m\\u{2028}\\u{202e}\\u{7f}\n")
  }

  @Test func aFileHandle() async throws {
    let folder = try TemporaryDirectory()
    let path = folder.path("log")
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let file = try #require(FileHandle(forWritingAtPath: path))
    let channel = TerminalChannel(fileHandle: file)
    #expect(await channel.availability() == .available(detail: "standard output"))
    let content = NotificationContent(title: "A", body: "b", threadIdentifier: "s", priority: .timeSensitive)
    try await channel.deliver(content)
    try await channel.deliver(content)
    try file.close()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "A: b\nA: b\n")
  }

  @Test func aWriterThatFails() async throws {
    let channel = TerminalChannel(isTerminal: false) { _ in throw TestFailure("full") }
    let content = NotificationContent(title: "A", body: "b", threadIdentifier: "s", priority: .active)
    await #expect(throws: ChannelError.self) { try await channel.deliver(content) }
  }
}
