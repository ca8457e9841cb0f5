import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of the log size while three processes write to one store as fast as they can.
@Suite(.blocking, .serialized) struct LogSizeTests {
  private static let limit = 16 << 20

  @Test(arguments: [("full", 3_000), ("relaxed", 12_000)])
  func theLogOfThreeWritingProcessesStaysBelow16MB(durability: String, commits: Int) async throws {
    let directory = try TemporaryDirectory()
    let reports = try await hammer(directory.path("store.db"), durability, commits: commits)
    #expect(reports.allSatisfy { $0.largestLog > 0 && $0.largestLog < Self.limit }, "\(reports)")
  }

  /// The long form of the test, run by `./run prove`.
  @Test(.enabled(if: isProving, "long: ./run prove"), arguments: ["full", "relaxed"])
  func proveThatTheLogStaysShortForAMinute(durability: String) async throws {
    let directory = try TemporaryDirectory()
    let clock = ContinuousClock()
    let end = clock.now + .seconds(60)
    var largest = 0
    while clock.now < end {
      let commits = durability == "full" ? 5_000 : 50_000
      let reports = try await hammer(directory.path("store.db"), durability, commits: commits)
      largest = reports.map(\.largestLog).reduce(largest, max)
    }
    print("three processes, \(durability): the log had \(largest) bytes at most")
    #expect(largest < Self.limit)
  }

  @Test func aReaderThatHoldsTheLogBackIsNamedAndTheLogShrinksAfterIt() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(WriteBatch([.put(KeyName("first"), Data())]), from: StoreOrigin())
    let reader = try HelperProcess(["hold-snapshot", path])
    #expect(try reader.line() == "holding")
    _ = try await hammer(path, "relaxed", commits: 4_000)
    var status = try engine.logStatus()
    #expect(status.frames > 4_000)
    #expect(status.readers.map(\.process) == [reader.process.processIdentifier])
    #expect(status.readers.first?.program.hasPrefix("CofferTestHelpe") == true)  // Linux keeps 15 characters.
    // A reader in this process is reported as such.
    try await engine.withSnapshot { snapshot in
      _ = try await snapshot.page(prefix: nil, after: nil, limit: 1)
      try await engine.commit(WriteBatch([.put(KeyName("own"), Data())]), from: StoreOrigin())
      #expect(try engine.logStatus().readers.contains { $0.isThisProcess })
    }
    reader.tell("done")
    _ = try reader.lines()
    _ = try await hammer(path, "relaxed", commits: 2_000)
    status = try engine.logStatus()
    #expect(status.readers.isEmpty)
    #expect(status.bytes < Self.limit)
    try await engine.close()
  }

  private struct Report {
    let milliseconds, largestLog: Int
  }

  /// Runs three processes that commit concurrently, and verifies that the last value of each key is stored.
  private func hammer(
    _ path: String, _ durability: String, commits: Int
  ) async throws -> [Report] {
    let helpers = try (0..<3).map {
      try HelperProcess(["hammer", path, durability, "w\($0)", "\(commits)", "1000"])
    }
    for helper in helpers { #expect(try helper.line() == "ready") }
    for helper in helpers { helper.tell("go") }
    let reports = try helpers.map { helper in
      let line = try helper.line() ?? ""
      let numbers = line.split(separator: " ").dropFirst().compactMap { Int($0) }
      guard numbers.count == 2 else { throw TestFailure("a writer has failed: \(line)") }
      return Report(milliseconds: numbers[0], largestLog: numbers[1])
    }
    for helper in helpers { #expect(helper.wait() == 0) }
    let engine = try await SQLiteEngine.open(at: path)
    var lost: [String] = []
    for writer in 0..<3 {
      for index in 0..<1_000 {
        let value = try await engine.entry(KeyName("w\(writer)/\(1_000_000 + index)"))?.value
        let last = Data("\(commits - 1_000 + index)".utf8)
        if value?.prefix(last.count) != last { lost.append("w\(writer)/\(index)") }
      }
    }
    #expect(lost.isEmpty, "\(lost.count) lost: \(lost.prefix(5))")
    try await engine.close()
    return reports
  }
}
