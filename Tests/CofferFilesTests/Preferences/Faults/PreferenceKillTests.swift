import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Several processes on one suite, some of them killed with SIGKILL at random moments.
@Suite(.blocking, .serialized) struct PreferenceKillTests {
  @Test func twoProcessesLoseNoUpdate() async throws {
    let fixture = try PreferenceFixture()
    let helpers = try (0..<2).map { _ in try fixture.run("prefs-increment", "300") }
    let looks = try await watchFile(of: fixture) { () async throws -> Void in
      for helper in helpers {
        #expect(try helper.lines(within: 300_000) == [])
        #expect(helper.wait() == 0)
      }
    }
    #expect(looks > 10)
    let engine = try await fixture.open()
    #expect(try await values(engine) == ["counter": "600"])
    #expect(try fixture.texts() == ["counter": "600"])
    #expect(engine.latestRevision == StoreRevision(600))
    #expect(try await engine.recoveryReport().edited == 0)
    for folder in ["staged", "quarantine"] { #expect(try fixture.names(in: folder) == []) }
    try await engine.close()
  }

  // Requirement 1.61
  @Test func nothingAcknowledgedIsLostInTwentyKills() async throws {
    try await kill(rounds: 20, seed: 20_261_123)
  }

  /// The long proof: `./run prove`.
  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatNothingAcknowledgedIsLostInPreferences() async throws {
    try await kill(rounds: 200, seed: UInt64.random(in: 0...UInt64.max))
  }

  /// One process counts to the end while others are killed; each of their batches is stored completely or not at all.
  private func kill(rounds: Int, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try PreferenceFixture()
    let counter = try fixture.run("prefs-increment", "\(rounds * 15)")
    var killsInsideCommits = 0
    var expected: [String: Int] = [:]
    for round in 0..<rounds {
      let helper = try fixture.run("prefs-write", "full", "round\(round)")
      var lines: [String] = []
      for _ in 0..<Int.random(in: 1...16, using: &random) { lines.append(try helper.line() ?? "") }
      if lines.last?.hasPrefix("begin") == true { pause(upTo: .milliseconds(6), using: &random) }
      helper.kill()
      lines += try helper.lines()
      helper.wait()
      if lines.last?.hasPrefix("begin") == true { killsInsideCommits += 1 }
      let comment: Comment = "round \(round), seed \(seed): \(lines.last ?? "")"
      // Read before the batch is rolled forward, or just after the counter has done so. The first writer may have been
      // killed before the file was created.
      let isThere = round > 0 || FileManager.default.fileExists(atPath: fixture.file)
      let whole = isThere ? try fixture.propertyList() : [:]
      let engine = try await fixture.open()
      let found = try await values(engine)
      let stored = pairs(found, round)
      #expect(stored.left == stored.right, comment)
      #expect(stored.left.count >= lines.count { $0.hasPrefix("ack") }, comment)
      #expect(stored.left.count <= lines.count { $0.hasPrefix("begin") }, comment)
      #expect(stored.left == Array(0..<stored.left.count), "a hole; \(comment)")
      #expect(whole.keys.allSatisfy { found[$0] != nil }, comment)
      expected["round\(round)"] = stored.left.count
      try await engine.close()
    }
    #expect(try counter.lines(within: 300_000) == [] && counter.wait() == 0)
    try await checkEnd(fixture, expected, count: rounds * 15, "seed \(seed)")
    print("killed \(rounds) writers of preferences, \(killsInsideCommits) of them inside a commit (seed \(seed))")
    #expect(killsInsideCommits > 0, "seed \(seed)")
  }

  private func checkEnd(
    _ fixture: PreferenceFixture, _ expected: [String: Int], count: Int, _ comment: Comment
  ) async throws {
    let engine = try await fixture.open()
    let found = try await values(engine)
    #expect(found["counter"] == "\(count)", comment)
    for (name, pairs) in expected { #expect(found.keys.count { $0.hasPrefix("\(name)/") } == 2 * pairs, comment) }
    let total = expected.values.reduce(0, +)
    #expect(found.count == 2 * total + 1, comment)
    #expect(engine.latestRevision == StoreRevision(UInt64(total + count)), comment)
    #expect(try fixture.texts() == found, comment)
    for folder in ["staged", "quarantine"] { #expect(try fixture.names(in: folder) == [], comment) }
    try await engine.close()
  }

  /// Returns the numbers of the pairs of a round; -1 for one with a wrong value.
  private func pairs(_ values: [String: String], _ round: Int) -> (left: [Int], right: [Int]) {
    func numbers(_ side: String) -> [Int] {
      values.compactMap { key, value in
        let parts = key.split(separator: "/")
        guard parts.count == 3, parts[0] == "round\(round)", parts[1] == side, let number = Int(parts[2]) else {
          return nil
        }
        return value.hasPrefix("\(number)") && value.utf8.count >= 200 ? number : -1
      }.sorted()
    }
    return (numbers("left"), numbers("right"))
  }

  /// Reads the file repeatedly, as any program would, while `body` runs.
  /// - Returns: The number of reads.
  private func watchFile(of fixture: PreferenceFixture, _ body: () async throws -> Void) async throws -> Int {
    let isOver = Locked(false)
    // On a separate thread, since waiting for the processes may block every thread of the cooperative pool.
    let (looked, looking) = AsyncThrowingStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
    Thread.detachNewThread {
      var (looks, random) = (0, SystemRandomNumberGenerator())
      do {
        while !isOver.withLock({ $0 }) {
          if FileManager.default.fileExists(atPath: fixture.file) {
            _ = try fixture.propertyList()
            looks += 1
          }
          pause(upTo: .milliseconds(2), using: &random)
        }
        looking.yield(looks)
        looking.finish()
      } catch {
        looking.finish(throwing: error)
      }
    }
    let watching = Task { () -> Int in
      for try await looks in looked { return looks }
      return 0
    }
    do { try await body() } catch {
      isOver.withLock { $0 = true }
      throw error
    }
    isOver.withLock { $0 = true }
    return try await finish(watching, within: .seconds(60))
  }
}
