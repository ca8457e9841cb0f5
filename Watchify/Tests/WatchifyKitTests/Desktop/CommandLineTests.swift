import CofferTesting
import Foundation
import Testing

/// The built program in a session with a stub notification server.
@Suite("The command line on a desktop", .serialized, .enabled(if: PrivateBus.isInstalled, "dbus-daemon is missing"))
struct CommandLineTests {
  @Test("The doctor sees the desktop; a test notification and the demo's news are shown on it")
  func desktop() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    let folder = try TemporaryDirectory()

    let doctor = try await watchify(["doctor"], bus, folder)
    #expect(doctor.status == 0 || doctor.output.contains("offline"), "\(doctor.output)")
    #expect(doctor.output.contains("notifications are shown by stub 1.2"), "\(doctor.output)")
    #expect(stub.shown.isEmpty)

    let test = try await watchify(["notify", "test"], bus, folder)
    #expect(test.status == 0 && test.output == "desktop: shown\n", "\(test.output)")
    #expect(stub.shown.map(\.summary) == ["Watchify"])

    let demo = try await watchify(["demo", "--fast"], bus, folder)
    #expect(demo.status == 0 && demo.output.contains("Notification (terminal and desktop): Tarn & Lotus"))
    let news = stub.shown.dropFirst()
    #expect(news.allSatisfy { $0.summary == "Tarn & Lotus" }, "\(news)")
    #expect(news.first?.body.hasPrefix("Tarn Cork Mat: $67.90, below your $70.00") == true, "the wish comes first")
    #expect(news.dropFirst().first?.body == "Tarn Cork Mat: $67.90, was $97.00")
    #expect(news.count == 7)

    try await stub.stop()
    try await bus.stop()
  }

  private func watchify(
    _ arguments: [String], _ bus: PrivateBus, _ folder: TemporaryDirectory
  ) async throws -> (status: Int32, output: String) {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
    let binaries =
      bundle.bundlePath.hasSuffix(".xctest") ? bundle.bundleURL.deletingLastPathComponent() : bundle.bundleURL
    let process = Process()
    process.executableURL = binaries.appendingPathComponent("watchify")
    process.arguments = arguments
    process.environment = Dictionary(uniqueKeysWithValues: [
      ("DBUS_SESSION_BUS_ADDRESS", bus.address), ("HOME", folder.url.path), ("XDG_DATA_HOME", folder.path("data")),
      ("TZ", "UTC"), ("LC_ALL", "C.UTF-8"), ("TERM", "xterm"), ("PATH", "/usr/bin:/bin"),
    ])
    // A file, so that no pipe can fill up.
    let file = folder.path("output")
    _ = FileManager.default.createFile(atPath: file, contents: nil)
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    let (ends, end) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = {
      end.yield($0.terminationStatus)
      end.finish()
    }
    try process.runUnblocked()
    let identifier = process.processIdentifier
    DispatchQueue.global().asyncAfter(deadline: .now() + 300) {
      if process.isRunning { kill(identifier, SIGKILL) }
    }
    var status: Int32 = -1
    for await last in ends { status = last }
    try output.close()
    return (status, try String(contentsOfFile: file, encoding: .utf8))
  }
}
