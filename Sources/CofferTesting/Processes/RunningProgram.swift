#if os(Linux) || os(macOS)
  import CofferCore
  public import Foundation

  /// A program that a test runs to its end. Its output goes to files, so that it cannot block on a full pipe.
  ///
  /// ```swift
  /// let process = Process()
  /// process.executableURL = URL(fileURLWithPath: "/usr/bin/sort")
  /// let ended = try await RunningProgram(process, in: directory.url, input: Data("b\na\n".utf8)).ended()
  /// #expect(ended.status == 0 && ended.lines == ["a", "b"])
  /// ```
  ///
  /// The program starts with no signal blocked, whatever the thread of the test blocks. After this object is
  /// deallocated, it runs on until its deadline. To exchange lines with a program, use ``HelperProcess``.
  public final class RunningProgram: Sendable {
    private let folder: URL
    /// The identifier of the process.
    public let identifier: Int32
    private let name = UUID().uuidString
    private let status: Task<Int32, Never>
    private let isRunning = Locked(true)

    /// Starts the program.
    /// - Parameters:
    ///   - process: the program to run.
    ///   - folder: the directory for the files of its output.
    ///   - input: the contents of its standard input; empty by default.
    ///   - deadline: the time in seconds after which the program is killed.
    /// - Throws: `CocoaError` if the program or a file for its output cannot be opened.
    public init(_ process: Process, in folder: URL, input: Data? = nil, deadline: Double = 240) throws {
      self.folder = folder
      let (statuses, continuation) = AsyncStream.makeStream(of: Int32.self)
      status = Task {
        for await status in statuses { return status }
        return -1
      }
      let stem = folder.appendingPathComponent(name)
      process.standardInput = FileHandle.nullDevice
      if let input {
        try input.write(to: stem.appendingPathExtension("in"))
        process.standardInput = try FileHandle(forReadingFrom: stem.appendingPathExtension("in"))
      }
      let output = try Self.file(stem.appendingPathExtension("out"))
      let errors = try Self.file(stem.appendingPathExtension("err"))
      process.standardOutput = output
      process.standardError = errors
      process.terminationHandler = { [isRunning] process in
        isRunning.withLock { $0 = false }
        let wasKilled = process.terminationReason == .uncaughtSignal
        continuation.yield(wasKilled ? 128 + process.terminationStatus : process.terminationStatus)
        continuation.finish()
      }
      try process.runUnblocked()
      // The child has its own handles; these would stay open as long as the watchdog below.
      try output.close()
      try errors.close()
      let identifier = process.processIdentifier
      self.identifier = identifier
      DispatchQueue.global().asyncAfter(deadline: .now() + deadline) {
        if process.isRunning { kill(identifier, SIGKILL) }
      }
    }

    private func read(_ kind: String) throws -> Data {
      try Data(contentsOf: folder.appendingPathComponent(name + "." + kind))
    }

    private static func file(_ url: URL) throws -> FileHandle {
      _ = FileManager.default.createFile(atPath: url.path, contents: nil)
      return try FileHandle(forWritingTo: url)
    }

    /// Sends the program a signal, such as `SIGINT`. Does nothing after its end, when the identifier may be reused.
    public func signal(_ number: Int32) {
      isRunning.withLock { if $0 { kill(identifier, number) } }
    }

    /// Returns the output so far.
    public func output() throws -> String { String(decoding: try read("out"), as: UTF8.self) }

    /// Returns the standard error so far.
    public func errors() throws -> String { String(decoding: try read("err"), as: UTF8.self) }

    /// Waits until the program has ended.
    /// - Throws: `CocoaError` if its output cannot be read.
    public func ended() async throws -> EndedProgram {
      let status = await status.value
      let errors = String(decoding: try read("err"), as: UTF8.self)
      return EndedProgram(status: status, output: try read("out"), errors: errors)
    }
  }

  /// The exit status and the output of a program that has ended.
  public struct EndedProgram: Sendable {
    /// The exit status; 128 plus the number of the signal if a signal ended the program.
    public let status: Int32
    /// The standard output.
    public let output: Data
    /// The standard error.
    public let errors: String

    /// The standard output as text.
    public var text: String { String(decoding: output, as: UTF8.self) }
    /// The lines of the standard output without their terminators, except empty ones.
    public var lines: [String] { text.split(whereSeparator: \.isNewline).map(String.init) }

    /// Parses the standard output as one JSON object.
    public func json() throws -> NSDictionary { try Self.object(output) }
    /// Parses the standard error as a JSON object and returns its object `error`.
    public func errorJSON() throws -> NSDictionary {
      guard let error = try Self.object(Data(errors.utf8))["error"] as? NSDictionary else { throw TestFailure(errors) }
      return error
    }
    /// Parses each line of the standard output as a JSON object.
    public func jsonLines() throws -> [NSDictionary] { try lines.map { try Self.object(Data($0.utf8)) } }

    private static func object(_ data: Data) throws -> NSDictionary {
      guard let object = try JSONSerialization.jsonObject(with: data) as? NSDictionary else {
        throw TestFailure("no object: \(String(decoding: data, as: UTF8.self))")
      }
      return object
    }
  }
#endif
