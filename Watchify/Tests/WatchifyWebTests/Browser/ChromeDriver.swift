import CofferTesting
import Foundation
import WatchifyTestSupport

/// A running `chromedriver` (Debian's `chromium-driver`) on a free port of the loopback address.
final class ChromeDriver: Sendable {
  /// The reason why browser tests cannot run here; `nil` if they can.
  static var missing: String? {
    let programs = ["/usr/bin/chromedriver", "/usr/bin/chromium"]
    let absent = programs.filter { !FileManager.default.isExecutableFile(atPath: $0) }
    return absent.isEmpty ? nil : "not installed: \(absent.joined(separator: ", "))"
  }

  /// The port on which the driver listens.
  let port: UInt16
  /// The directory for the profiles and temporary files of its browsers.
  let directory: TemporaryDirectory
  private let process: Process

  /// Starts a driver and waits until it listens.
  /// - Throws: ``TestFailure`` if it does not listen within 30 seconds times `patience`.
  init() throws {
    let directory = try TemporaryDirectory()
    for _ in 0..<5 {
      let (process, port) = try Self.start(in: directory)
      if let port {
        (self.port, self.directory, self.process) = (port, directory, process)
        return
      }
      // It takes a port that is free for IPv4, and ends at once if somebody has it for IPv6.
      guard !process.isRunning else {
        kill(process.processIdentifier, SIGKILL)
        break
      }
    }
    throw TestFailure("chromedriver did not print its port in time")
  }

  /// Starts the program, and returns its port once it listens; no port if it has ended, or takes too long.
  private static func start(in directory: TemporaryDirectory) throws -> (Process, UInt16?) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/chromedriver")
    process.arguments = ["--port=0", "--log-level=SEVERE"]
    var environment = ProcessInfo.processInfo.environment
    for (name, value) in [("TMPDIR", directory.url.path), ("HOME", directory.url.path)] { environment[name] = value }
    // With a display, a dialog could wait for a person.
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"] { environment[name] = nil }
    process.environment = environment
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.runUnblocked()
    try? output.fileHandleForWriting.close()
    let port = port(in: output.fileHandleForReading)
    // Its output may have ended a moment before it has.
    if port == nil { try? blockUntil("the driver ends") { !process.isRunning } }
    return (process, port)
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  /// Starts a driver for a closure, and ends it with all browsers that it has started.
  static func run<R: Sendable>(_ body: (ChromeDriver) async throws -> R) async throws -> R {
    let driver = try ChromeDriver()
    do {
      let result = try await body(driver)
      await driver.stop()
      return result
    } catch {
      await driver.stop()
      throw error
    }
  }

  /// Ends the driver and its browsers. A driver that is only killed would leave its browsers running.
  private func stop() async {
    _ = try? await ask(port, "/shutdown", keptOpen: true)
  }

  /// Reads "ChromeDriver was started successfully on port N." from the output.
  private static func port(in output: FileHandle) -> UInt16? {
    let end = Date().addingTimeInterval(30 * Double(patience))
    var text = ""
    while Date() < end {
      var wait = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 500) > 0 else { continue }
      let more = output.availableData
      if more.isEmpty { return nil }
      text += String(decoding: more, as: UTF8.self)
      if let match = text.firstMatch(of: /successfully on port (\d+)/) { return UInt16(match.1) }
    }
    return nil
  }
}
