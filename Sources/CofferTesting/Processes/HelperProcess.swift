#if os(Linux) || os(macOS)
  public import Foundation

  /// An executable of the test package that runs beside the test, as another process of the application would. It is
  /// killed when this object is deallocated, at the latest.
  ///
  /// The test and the helper exchange lines, and the test may kill it at any point:
  ///
  /// ```swift
  /// let writer = try HelperProcess(["write", directory.path("notes.db")], executable: "MyTestHelper")
  /// #expect(try writer.line() == "ready")
  /// writer.kill()
  /// ```
  ///
  /// The test target must list the executable among its dependencies, so that it is built next to the test bundle.
  public final class HelperProcess {
    /// The process, with its identifier and its state.
    public let process = Process()
    private let output = Process.pipe()
    private let input = Process.pipe()
    private var buffer = Data()

    /// Starts the helper.
    /// - Parameters:
    ///   - arguments: the arguments of the helper.
    ///   - name: the name of the helper, an executable next to the test bundle.
    ///   - environment: variables to add to this process's environment.
    ///   - absent: variables to remove from it.
    ///   - launcher: the path and the arguments of a program that starts the helper, such as `taskset`; empty for none.
    /// - Throws: ``TestFailure`` if there is no such executable next to the test bundle.
    public init(
      _ arguments: [String], executable name: String, environment: [(String, String)] = [],
      without absent: [String] = [], by launcher: [String] = []
    ) throws {
      let helper = try Self.executable(name)
      process.executableURL = launcher.first.map { URL(fileURLWithPath: $0) } ?? helper
      process.arguments = launcher.isEmpty ? arguments : launcher.dropFirst() + [helper.path] + arguments
      process.standardOutput = output
      process.standardInput = input
      var variables = ProcessInfo.processInfo.environment
      for name in absent { variables[name] = nil }
      for (name, value) in environment { variables[name] = value }
      process.environment = variables
      try process.runUnblocked()
      try? output.fileHandleForWriting.close()
    }

    deinit { stop() }

    /// Returns the path of an executable in the test bundle's directory or the three above it.
    private static func executable(_ name: String) throws -> URL {
      var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      for _ in 0..<4 {
        let candidate = folder.appendingPathComponent(name)
        if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
        folder.deleteLastPathComponent()
      }
      throw TestFailure("\(name) is neither next to \(CommandLine.arguments[0]) nor in the three directories above")
    }

    /// Returns the next line of the output, or `nil` at its end. An incomplete last line is dropped.
    /// - Throws: ``TestFailure`` if there is no output for a minute times ``patience``.
    public func line() throws -> String? {
      while true {
        if let line = takeLine() { return line }
        guard hasMore(within: 60_000 * Int32(patience)) else { throw TestFailure("the helper printed nothing in time") }
        guard readMore() else { return nil }
      }
    }

    /// Returns the next line of the output, or `nil` at its end or if there is no output for `milliseconds`.
    public func line(within milliseconds: Int32) throws -> String? {
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
      while true {
        let count = poll(&wait, 1, milliseconds)
        if count >= 0 || errno != EINTR { return count > 0 }
      }
    }

    /// Reads more of the output. Returns `false` at its end.
    private func readMore() -> Bool {
      let more = output.fileHandleForReading.availableData
      buffer += more
      return !more.isEmpty
    }

    /// Returns all remaining lines of the output.
    /// - Throws: ``TestFailure`` if there is no output for `milliseconds`.
    public func lines(within milliseconds: Int32 = 60_000 * Int32(patience)) throws -> [String] {
      var lines: [String] = []
      while true {
        if let line = takeLine() {
          lines.append(line)
          continue
        }
        guard hasMore(within: milliseconds) else {
          throw TestFailure("the helper printed nothing for \(milliseconds / 1_000) s; before that: \(lines)")
        }
        guard readMore() else { return lines }
      }
    }

    /// Writes a line to the helper's standard input, whether or not the helper still reads it.
    public func tell(_ line: String) {
      // The signal for a pipe without a reader would end the test: it is blocked, and taken if it has arrived.
      var (broken, pending, before) = (sigset_t(), sigset_t(), sigset_t())
      sigemptyset(&broken)
      sigaddset(&broken, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &broken, &before)
      defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
      let bytes = Array((line + "\n").utf8)
      guard write(input.fileHandleForWriting.fileDescriptor, bytes, bytes.count) < 0 else { return }
      sigpending(&pending)
      var number: Int32 = 0
      if sigismember(&pending, SIGPIPE) == 1 { sigwait(&broken, &number) }
    }

    /// Kills the helper with `SIGKILL`, which it cannot catch.
    public func kill() {
      if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits until the helper has ended.
    /// - Returns: The exit status, or the number of the signal that ended it.
    @discardableResult
    public func wait() -> Int32 {
      process.waitUntilExit()
      return process.terminationStatus
    }

    /// Kills the helper if it is running, and waits until it has ended.
    public func stop() {
      guard process.isRunning else { return }
      kill()
      process.waitUntilExit()
    }
  }
#endif
