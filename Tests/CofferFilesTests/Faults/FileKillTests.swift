import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Writers over files, killed with SIGKILL at random moments.
@Suite(.blocking, .serialized) struct FileKillTests {
  // Requirement 1.61
  @Test func nothingAcknowledgedIsLostInFortyKills() async throws {
    try await FileKillLoop(rounds: 40, seed: 20_261_121).run()
  }

  /// The long proof: `./run prove`.
  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatNothingAcknowledgedIsLostInFiles() async throws {
    try await FileKillLoop(rounds: 400, seed: UInt64.random(in: 0...UInt64.max)).run()
  }

  /// Many tasks of two processes write the same two keys; one process is killed, and later the other.
  @Test func pairsAreNeverTornByAStorm() async throws {
    try await storm(rounds: 8, seed: 20_261_122)
  }

  /// The long proof: `./run prove`.
  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatPairsAreNeverTornByAStorm() async throws {
    try await storm(rounds: 100, seed: UInt64.random(in: 0...UInt64.max))
  }

  private func storm(rounds: Int, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let directory = try StoreDirectory()
    defer { withExtendedLifetime(directory) {} }
    for round in 0..<rounds {
      let storms = try (0..<2).map { try directory.run("files-storm", "round\(round)-\($0)") }
      var newest = UInt64(0)
      func acknowledge(_ line: String?) throws {
        let words = try #require(line).split(separator: " ")
        newest = max(newest, try #require(words.last.flatMap { UInt64($0) }, "\(words)"))
      }
      for storm in storms { for _ in 0..<Int.random(in: 1...60, using: &random) { try acknowledge(storm.line()) } }
      storms[0].kill()
      for line in try storms[0].lines() { try acknowledge(line) }
      for _ in 0..<Int.random(in: 1...60, using: &random) { try acknowledge(storms[1].line()) }
      storms[1].kill()
      for line in try storms[1].lines() { try acknowledge(line) }
      for storm in storms { storm.wait() }
      try await check(directory, newest, "round \(round), seed \(seed)")
    }
  }

  private func check(_ directory: StoreDirectory, _ newest: UInt64, _ comment: Comment) async throws {
    let engine = try await directory.open()
    let left = try #require(try await engine.entry(KeyName("pair/left")), comment)
    let right = try #require(try await engine.entry(KeyName("pair/right")), comment)
    #expect(left.value == right.value && left.revision == right.revision, comment)
    #expect(left.revision.rawValue >= newest, comment)
    #expect(left.value != Data("passed over".utf8), comment)
    #expect(try directory.contents() == ["pair%2fleft": left.value, "pair%2fright": left.value], comment)
    #expect(try await engine.recoveryReport().edited == 0, comment)
    let journal = try await commits(engine, after: StoreRevision(newest > 500 ? newest - 500 : 0))
    #expect(journal.allSatisfy { $0.origin != nil }, comment)
    #expect(try directory.names(in: "staged") == [], comment)
    try await engine.close()
  }
}

/// Kills a writer repeatedly at random moments and compares the acknowledged values with the stored ones.
private struct FileKillLoop {
  let rounds: Int
  let seed: UInt64

  func run() async throws {
    var random = SeededGenerator(seed: seed)
    let directory = try StoreDirectory()
    defer { withExtendedLifetime(directory) {} }  // an optimised build would remove it after its last use
    var killsInsideCommits = 0
    var revision = StoreRevision.zero
    for round in 0..<rounds {
      let name = "round\(round)"
      let helper = try directory.run("files-write", "full", name)
      let steps = Int.random(in: 1...40, using: &random)
      var lines: [String] = []
      for _ in 0..<steps { lines.append(try helper.line() ?? "") }
      if lines.last?.hasPrefix("begin") == true { pause(upTo: .microseconds(1_500), using: &random) }
      helper.kill()
      lines += try helper.lines()
      helper.wait()
      if lines.last?.hasPrefix("begin") == true { killsInsideCommits += 1 }
      revision = try await check(directory, name, lines, revision, "round \(round), seed \(seed)")
    }
    print("killed \(rounds) writers over files, \(killsInsideCommits) of them inside a commit (seed \(seed))")
    #expect(killsInsideCommits > 0, "seed \(seed)")
  }

  private func check(
    _ directory: StoreDirectory, _ name: String, _ lines: [String], _ before: StoreRevision, _ comment: Comment
  ) async throws -> StoreRevision {
    let acknowledged = lines.count { $0.hasPrefix("ack") }
    let begun = lines.count { $0.hasPrefix("begin") }
    let engine = try await directory.open()
    let report = try await engine.recoveryReport()
    #expect(report.edited == 0, comment)
    let (left, right) = try await engine.withSnapshot { snapshot in
      let left = try await snapshot.page(prefix: KeyName("\(name)/left/"), after: nil, limit: .max)
      let right = try await snapshot.page(prefix: KeyName("\(name)/right/"), after: nil, limit: .max)
      return (left, right)
    }
    #expect(left.count >= acknowledged, "\(acknowledged - left.count) lost; \(comment)")
    #expect(left.count <= begun, "more than was begun; \(comment)")
    #expect(left.map(\.value) == right.map(\.value), "half a batch; \(comment)")
    let numbers = left.compactMap { Int($0.key.string.split(separator: "/").last ?? "") }.sorted()
    #expect(numbers == Array(0..<left.count), "a hole; \(comment)")
    for entry in left + right {
      #expect(try Data(contentsOf: URL(fileURLWithPath: directory.file(entry.key.string))) == entry.value, comment)
    }
    let journal = try await commits(engine, after: before)
    #expect(journal.count == left.count && journal.allSatisfy { $0.origin != nil }, comment)
    #expect(try directory.names(in: "staged") == [], comment)
    let revision = engine.latestRevision
    try await engine.close()
    return revision
  }
}
