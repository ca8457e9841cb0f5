import Foundation
import Testing

/// A program that runs. Its output goes to files, so that no pipe can fill up.
final class Running: Sendable {
  /// What no test should ever take; a program that does is ended.
  private static let deadline = 300.0

  let identifier: Int32
  private let sandbox: Sandbox
  private let name = UUID().uuidString
  private let statuses: AsyncStream<Int32>

  init(_ process: Process, in sandbox: Sandbox) throws {
    self.sandbox = sandbox
    let (statuses, continuation) = AsyncStream.makeStream(of: Int32.self)
    self.statuses = statuses
    process.standardInput = FileHandle.nullDevice
    let output = try Self.file(sandbox.url.appendingPathComponent(name + ".out"))
    let errors = try Self.file(sandbox.url.appendingPathComponent(name + ".err"))
    process.standardOutput = output
    process.standardError = errors
    process.terminationHandler = { process in
      let wasKilled = process.terminationReason == .uncaughtSignal
      continuation.yield(wasKilled ? 128 + process.terminationStatus : process.terminationStatus)
      continuation.finish()
    }
    try process.run()
    try output.close()
    try errors.close()
    let identifier = process.processIdentifier
    self.identifier = identifier
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.deadline) {
      if process.isRunning { kill(identifier, SIGKILL) }
    }
  }

  private static func file(_ url: URL) throws -> FileHandle {
    _ = FileManager.default.createFile(atPath: url.path, contents: nil)
    return try FileHandle(forWritingTo: url)
  }

  func signal(_ number: Int32) { kill(identifier, number) }

  /// What it has printed so far.
  func output() throws -> String { String(decoding: try sandbox.read(name + ".out"), as: UTF8.self) }

  /// Waits for its end.
  func ended() async throws -> Ended {
    var status: Int32 = -1
    for await end in statuses { status = end }
    let errors = String(decoding: try sandbox.read(name + ".err"), as: UTF8.self)
    return Ended(status: status, output: try sandbox.read(name + ".out"), errors: errors)
  }
}

/// How a program ended and what it printed.
struct Ended: Sendable {
  let status: Int32
  let output: Data
  let errors: String

  var text: String { String(decoding: output, as: UTF8.self) }
  var lines: [String] { text.split(whereSeparator: \.isNewline).map(String.init) }

  /// The output as one JSON object.
  func json() throws -> NSDictionary { try Self.object(output) }
  /// The standard error as one JSON object.
  func errorJSON() throws -> NSDictionary {
    try #require(Self.object(Data(errors.utf8))["error"] as? NSDictionary)
  }
  /// Each line as a JSON object.
  func jsonLines() throws -> [NSDictionary] { try lines.map { try Self.object(Data($0.utf8)) } }

  private static func object(_ data: Data) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: data) as? NSDictionary)
  }
}

/// Repeats `attempt` until it says that all is well, or the deadline has passed.
func eventually(
  _ what: Comment, within limit: Duration = .seconds(240), sourceLocation: SourceLocation = #_sourceLocation,
  _ attempt: () async throws -> Bool
) async throws {
  let start = ContinuousClock.now
  while try await !attempt() {
    try #require(ContinuousClock.now - start < limit, what, sourceLocation: sourceLocation)
    try await Task.sleep(for: .milliseconds(10))
  }
}
