import CofferTesting
import Foundation
import Testing

@testable import ReplayShopServer

@Suite("The command replay-shop")
struct CommandTests {
  @Test("understands its options")
  func options() throws {
    let arguments = try Arguments(["--port", "8080", "--products", "9", "--variants", "3", "--seed", "12"])
    #expect(arguments.port == 8_080 && arguments.products == 9 && arguments.variants == 3 && arguments.seed == 12)
    let demo = try Arguments(["--demo", "--step-every", "20"])
    #expect(demo.isDemo && demo.stepEvery == 20)
    #expect(try Arguments(["--feed", "a.json", "--script", "b"]).feed == "a.json")
    #expect(try Arguments(["-h"]).asksForHelp)
  }

  @Test(
    "rejects invalid options with a reason",
    arguments: [
      ["--port"], ["--port", "70000"], ["--port", "x"], ["--products", "-1"], ["--variants", "0"], ["x"],
      ["--demo", "--feed", "x"], ["--step-every", "3"], ["--demo", "--step-every", "0"],
    ])
  func mistakes(_ words: [String]) {
    #expect(throws: Arguments.Mistake.self) { try Arguments(words) }
  }

  @Test("names every option in its help")
  func help() {
    for option in ["--port", "--products", "--variants", "--seed", "--feed", "--demo", "--step-every", "--script"] {
      #expect(Arguments.help.contains(option))
    }
  }

  @Test("serves until it receives SIGTERM")
  func process() async throws {
    let shop = try ShopProcess(["--demo"])
    defer { shop.kill() }
    let line = try #require(try await shop.firstLine())
    let port = try #require(UInt16(line.dropFirst("listening on http://127.0.0.1:".count)))
    #expect(try await ask(port, "/products.json?limit=250").products().count == 48)
    #expect(try await ask(port, "/_replay/advance", method: "POST").text.contains("price down"))
    #expect(try await shop.end() == 0)
    await #expect(throws: SocketFailure.self) { try await ask(port, "/") }
  }

  @Test("serves a recording, follows a script, and does not start if either is missing")
  func files() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("replay-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (feed, script) = (folder.appendingPathComponent("feed.json"), folder.appendingPathComponent("script"))
    try Data(FeedTests.recording.utf8).write(to: feed)
    try Data("500\nnormal\n".utf8).write(to: script)
    let shop = try ShopProcess(["--feed", feed.path, "--script", script.path])
    defer { shop.kill() }
    let line = try #require(try await shop.firstLine())
    let port = try #require(UInt16(line.dropFirst("listening on http://127.0.0.1:".count)))
    #expect(try await ask(port, "/products.json").status == 500)
    #expect(try await ask(port, "/products.json").products().map(\.id) == [1, 2])
    #expect(try await shop.end() == 0)
    #expect(try await ShopProcess(["--feed", folder.appendingPathComponent("no").path]).exit() == 64)
    #expect(try await ShopProcess(["--feed", script.path]).exit() == 1)
  }
}

/// A process of the executable beside the test bundle. Waits for it block a separate thread.
private final class ShopProcess: Sendable {
  private let identifier: pid_t
  private let output: Int32
  private let ending: AsyncStream<Int32>

  init(_ arguments: [String]) throws {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    for _ in 0..<4 where !FileManager.default.isExecutableFile(atPath: folder.path + "/replay-shop") {
      folder.deleteLastPathComponent()
    }
    let process = Process()
    let pipe = Pipe()
    process.executableURL = folder.appendingPathComponent("replay-shop")
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = {
      continuation.yield($0.terminationStatus)
      continuation.finish()
    }
    try process.runUnblocked()
    identifier = process.processIdentifier
    output = dup(pipe.fileHandleForReading.fileDescriptor)
    ending = stream
  }

  deinit { close(output) }

  func kill() { Foundation.kill(identifier, SIGKILL) }

  func firstLine() async throws -> String? {
    let output = output
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        var sign = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        while poll(&sign, 1, 30_000) > 0, read(output, &byte, 1) == 1, byte != 0x0A { line.append(byte) }
        continuation.resume(returning: line.isEmpty ? nil : String(decoding: line, as: UTF8.self))
      }
    }
  }

  /// Sends SIGTERM and waits for the end of the process.
  func end() async throws -> Int32 {
    Foundation.kill(identifier, SIGTERM)
    return try await exit()
  }

  func exit() async throws -> Int32 {
    let end = Task { [ending] in await ending.first { _ in true } }
    return try #require(try await finish(end, within: .seconds(30)))
  }
}
