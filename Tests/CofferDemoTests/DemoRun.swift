import CofferTesting
import Foundation

/// The members of the summary that the tests check.
struct Summary: Decodable {
  struct Check: Decodable {
    let act: Int
    let isPassed: Bool
  }
  let isPassed: Bool
  let products, variants, savedOneByOne, savedInOneBatch, savedConcurrently, readBack: Int
  let changesSent, changesHeard, kills, killsInsideASave, productsConfirmedBeforeAKill: Int
  let lost, halfBatches, damagedValuesReported, readBesideTheDamage: Int
  let files, fileKills, filesLost, halfFileBatches, filesReadAfterRebuild: Int
  let readAfterMigration, wordsFoundInPlain, wordsFoundEncrypted: Int
  let rotationKills, readAfterRotation, readAfterShredding: Int
  let checks: [Check]
  let store, directory: String?
  /// The acts with a failed check.
  var failedActs: Set<Int> { Set(checks.filter { !$0.isPassed }.map(\.act)) }
}

/// One run of the built program, which ends by itself after a time limit.
struct DemoRun {
  let exitCode: Int32
  let output: Data
  let errors: String

  /// - Parameters:
  ///   - path: A folder that precedes the system's folders in `PATH`.
  ///   - meddle: A function that is called repeatedly while the program runs.
  init(_ arguments: [String], path: String? = nil, meddle: (() throws -> Void)? = nil) throws {
    let process = Process()
    let (output, errors) = (Pipe(), Pipe())
    process.executableURL = try Self.executable()
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = errors
    if let path {
      var environment = ProcessInfo.processInfo.environment
      environment["PATH"] = path + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
      process.environment = environment
    }
    try process.runUnblocked()
    var random = SystemRandomNumberGenerator()
    // The output up to the end of the process fits into the buffers of the pipes.
    while let meddle, process.isRunning {
      try meddle()
      pause(upTo: .milliseconds(1), using: &random)
    }
    self.output = output.fileHandleForReading.readDataToEndOfFile()
    self.errors = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    exitCode = process.terminationStatus
  }

  /// Returns the built program, which lies beside the test bundle.
  private static func executable() throws -> URL {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    for _ in 0..<4 {
      let candidate = folder.appendingPathComponent("coffer-demo")
      if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
      folder.deleteLastPathComponent()
    }
    throw CocoaError(.fileNoSuchFile)
  }
}
