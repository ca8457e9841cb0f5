package import Foundation

/// The helper executable, running; killed and reaped at the latest when this object goes.
package final class HelperProcess {
  package let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private var buffer = Data()

  /// - Parameters:
  ///   - arguments: what it is told.
  ///   - name: which helper: an executable beside the test bundle.
  ///   - environment: variables that it gets beside those of this process.
  ///   - absent: variables that it does not get although this process has them.
  package init(
    _ arguments: [String], executable name: String = "CofferTestHelper", environment: [(String, String)] = [],
    without absent: [String] = []
  ) throws {
    process.executableURL = try Self.executable(name)
    process.arguments = arguments
    process.standardOutput = output
    process.standardInput = input
    var variables = ProcessInfo.processInfo.environment
    for name in absent { variables[name] = nil }
    for (name, value) in environment { variables[name] = value }
    process.environment = variables
    try process.run()
    try? output.fileHandleForWriting.close()
  }

  deinit { stop() }

  /// Beside the test bundle, where the build puts it.
  private static func executable(_ name: String) throws -> URL {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    for _ in 0..<4 {
      let candidate = folder.appendingPathComponent(name)
      if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
      folder.deleteLastPathComponent()
    }
    let built = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    throw TestFailure("\(name) is not beside \(built.path)")
  }

  /// The next line, or `nil` at the end. Throws when nothing comes for a minute.
  package func line() throws -> String? {
    while true {
      if let line = takeLine() { return line }
      guard hasMore(within: 60_000 * Int32(patience)) else { throw TestFailure("the helper has said nothing") }
      guard readMore() else { return nil }
    }
  }

  /// The next line, or `nil` when none comes within so many milliseconds.
  package func line(within milliseconds: Int32) throws -> String? {
    while true {
      if let line = takeLine() { return line }
      guard hasMore(within: milliseconds), readMore() else { return nil }
    }
  }

  private func takeLine() -> String? {
    guard let end = buffer.firstIndex(of: 0x0A) else { return nil }
    let line = String(decoding: buffer[..<end], as: UTF8.self)
    buffer = Data(buffer[(end + 1)...])
    return line
  }

  private func hasMore(within milliseconds: Int32) -> Bool {
    var wait = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, milliseconds) > 0
  }

  /// Whether there was more before the end.
  private func readMore() -> Bool {
    let more = output.fileHandleForReading.availableData
    buffer += more
    return !more.isEmpty
  }

  /// All remaining lines. Throws when nothing comes for so many milliseconds.
  package func lines(within milliseconds: Int32 = 60_000 * Int32(patience)) throws -> [String] {
    var lines: [String] = []
    while true {
      if let line = takeLine() {
        lines.append(line)
        continue
      }
      guard hasMore(within: milliseconds) else {
        throw TestFailure("the helper has said nothing for \(milliseconds / 1_000) s; before that: \(lines)")
      }
      guard readMore() else { return lines }
    }
  }

  package func tell(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

  package func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

  @discardableResult
  package func wait() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }

  package func stop() {
    guard process.isRunning else { return }
    kill()
    process.waitUntilExit()
  }
}

package struct TestFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// The preloaded library that makes system calls fail, compiled once per run, beside the test bundle.
package enum FaultLibrary {
  package static let path: String? = {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("fault.c")
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let library = folder.appendingPathComponent("coffer-fault-\(getpid()).so")
    atexit { removeFaultLibrary() }
    for compiler in ["cc", "clang", "gcc"] {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [compiler, "-shared", "-fPIC", "-O1", "-o", library.path, source.path, "-ldl"]
      process.standardError = Pipe()
      guard (try? process.run()) != nil else { continue }
      process.waitUntilExit()
      if process.terminationStatus == 0 { return library.path }
    }
    return nil
  }()
}

private nonisolated func removeFaultLibrary() {
  if let path = FaultLibrary.path { unlink(path) }
}
