import CofferCore
import CofferTerminal
import Foundation

/// A program of the system, such as `systemctl`.
struct SystemTool: Sendable {
  /// What a run of the program has printed, and whether it succeeded.
  struct Outcome: Sendable {
    let isSuccess: Bool
    let output: String
    let errors: String

    /// The first line of the error output, for messages; the output's if there is none.
    var reason: String {
      let lines = (errors + "\n" + output).split(whereSeparator: \.isNewline)
      return (lines.first.map { String($0) } ?? "no reason was given").oneLine(limit: 200)
    }
  }

  private let program: URL

  /// Finds a program in the folders of `PATH`; `nil` if there is none.
  init?(_ name: String) {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let folders = path.split(separator: ":").filter { $0.hasPrefix("/") }
    let found = folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let found else { return nil }
    program = URL(fileURLWithPath: found)
  }

  /// Runs the program to its end.
  /// - Parameters:
  ///   - arguments: the arguments.
  ///   - seconds: the time after which it is killed, which counts as a failure.
  /// - Throws: `CocoaError` if it cannot be started.
  func run(_ arguments: [String], within seconds: Double = 60) async throws -> Outcome {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    let (output, errors) = (Pipe(), Pipe())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    process.terminationHandler = { process in
      end.yield(process.terminationReason == .exit && process.terminationStatus == 0)
      end.finish()
    }
    try process.run()
    let identifier = process.processIdentifier
    let hasEnded = Locked(false)
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds) {
      hasEnded.withLock { if !$0 { kill(identifier, SIGKILL) } }
    }
    // Both are read until their end while the program runs, so that it never waits for a full pipe.
    async let printed = Self.text(of: output.fileHandleForReading)
    async let complained = Self.text(of: errors.fileHandleForReading)
    let (text, complaint) = await (printed, complained)
    var isSuccess = false
    for await success in ends { isSuccess = success }
    hasEnded.withLock { $0 = true }
    return Outcome(isSuccess: isSuccess, output: text, errors: complaint)
  }

  private static func text(of handle: FileHandle) async -> String {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        let data = (try? handle.readToEnd()) ?? nil
        continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
      }
    }
  }
}
