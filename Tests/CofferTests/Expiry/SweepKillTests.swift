import Coffer
import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Processes that are killed while they remove expired values.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct SweepKillTests {
  private static let number = 12

  /// The clock of the process that stores the values, years before that of the killed one.
  private let clock = SettableClock()

  private var expired: [KeyName] { get throws { try (0..<Self.number).map { try KeyName("expired/\($0)") } } }
  private var kept: [KeyName] { get throws { try (0..<Self.number).map { try KeyName("kept/\($0)") } } }

  // Requirement 5.1
  @Test func aKillAtEveryStepOfASweepOfFilesLosesNothing() async throws {
    var kills = 0
    for step in 1...100 {
      let directory = try TemporaryDirectory()
      let path = directory.path("store")
      try await fill(try await files(path))
      let lines = try HelperProcess(["expire", path, "files", "\(step)"]).finalLines()
      if lines.last == "closed" { break }
      #expect(!lines.contains { $0.hasPrefix("error") }, "\(lines)")
      if lines.contains("committed") { kills += 1 }
      try await check(try await files(path), "killed at step \(step): \(lines.last ?? "")")
      try finish(["expire", path, "files", "0"])
      try await checkSwept(try await files(path))
      let names = try FileManager.default.contentsOfDirectory(atPath: path)
      #expect(names.filter { !$0.hasPrefix(".") }.count == Self.number + 1, "\(names)")
    }
    #expect(kills >= Self.number, "the record, the commit and each removal: \(kills)")
  }

  // Requirement 5.1
  @Test(
    .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"),
    arguments: ["pwrite", "sync"])
  func aKillAtEveryStepOfASweepOfADatabaseLosesNothing(_ call: String) async throws {
    var kills = 0
    for step in 1...60 {
      let directory = try TemporaryDirectory()
      let path = directory.path("store.db")
      try await fill(try await database(path))
      let helper = try HelperProcess(
        ["expire", path, "database", "kill:\(call):\(step)"],
        environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
      let lines = try helper.finalLines()
      if lines.last == "closed" { break }
      #expect(!lines.contains { $0.hasPrefix("error") }, "\(lines)")
      if lines.contains("committed") { kills += 1 }
      try await check(try await database(path), "killed at \(call) \(step): \(lines.last ?? "")")
      try finish(["expire", path, "database", "none"])
      try await checkSwept(try await database(path))
    }
    #expect(kills >= 1, "\(kills)")
  }

  private func files(_ path: String) async throws -> SlotEngine {
    var configuration = SlotEngine.Configuration()
    configuration.clock = clock.storeClock
    return try await SlotEngine.files(in: URL(fileURLWithPath: path), configuration: configuration)
  }

  private func database(_ path: String) async throws -> SQLiteEngine {
    var configuration = SQLiteEngine.Configuration()
    configuration.clock = clock.storeClock
    return try await SQLiteEngine.open(at: path, configuration: configuration)
  }

  /// Stores values that expire before the clock of the system, others that do not, and one that expires later.
  private func fill(_ engine: any StorageEngine) async throws {
    clock.set(Date(timeIntervalSince1970: 1_000_000_000))
    var batch = WriteBatch()
    for key in try expired { batch.put(key, Data(key.string.utf8), ValueAttributes(expires: clock.now + 60)) }
    for (number, key) in try kept.enumerated() {
      let expires = number == 0 ? Date(timeIntervalSince1970: 32_000_000_000) : nil
      batch.put(key, Data(key.string.utf8), ValueAttributes(expires: expires))
    }
    try await engine.commit(batch, from: StoreOrigin())
    try await engine.close()
  }

  /// Checks a store whose sweep was interrupted: the values that did not expire are present, the others absent, and
  /// counts and digests are those of the newest commit.
  private func check(_ engine: any StorageEngine, _ comment: Comment) async throws {
    clock.set(Date(timeIntervalSince1970: 2_000_000_000))
    let kept = try kept.sorted()
    for key in kept { #expect(try await engine.entry(key)?.value == Data(key.string.utf8), comment) }
    for key in try expired { #expect(try await engine.entry(key) == nil, comment) }
    let listed = try await engine.summaries().map(\.key)
    #expect(listed.filter { $0.hasPrefix(KeyName("kept/")) } == kept, comment)
    #expect(!listed.contains { $0.hasPrefix(KeyName("expired/")) }, comment)
    #expect(try await verified(engine, comment) >= Int64(Self.number))
    try await engine.close()
  }

  /// Checks that no expired value is stored, with a clock at which none has expired.
  private func checkSwept(_ engine: any StorageEngine) async throws {
    clock.set(Date(timeIntervalSince1970: 1_000_000_000))
    for key in try expired { #expect(try await engine.entry(key) == nil) }
    #expect(try await verified(engine, "after the second run") == Int64(Self.number) + 1)
    try await engine.close()
  }

  /// Verifies counts and digests, and returns the number of stored values.
  private func verified(_ engine: any StorageEngine, _ comment: Comment) async throws -> Int64 {
    let slots = engine.as(SlotEngine.self)
    if let slots { #expect(try await slots.recoveryReport().lost.isEmpty, comment) }
    let records = try #require(engine.as(SQLiteEngine.self) ?? slots?.journal)
    let report = try await records.verify()
    #expect(report.isWhole, "\(comment): \(report)")
    return report.values
  }

  private func finish(_ arguments: [String]) throws {
    let lines = try HelperProcess(arguments).finalLines()
    #expect(lines.last == "closed", "\(lines)")
  }
}

extension HelperProcess {
  /// Waits until the process ends, and returns all lines that it printed.
  fileprivate func finalLines() throws -> [String] {
    let lines = try lines()
    wait()
    return lines
  }
}
