import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests with real processes, killed with SIGKILL while they commit.
@Suite(.blocking, .serialized) struct KillTests {
  // Requirement 1.61
  @Test func nothingAcknowledgedIsLostInSixtyKills() async throws {
    try await KillLoop(rounds: 60, seed: 20_261_121).run()
  }

  /// The long form of the test, run by `./run prove`.
  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatNothingAcknowledgedIsLost() async throws {
    try await KillLoop(rounds: 600, seed: UInt64.random(in: 0...UInt64.max)).run()
  }

  /// The process is killed before each write and each sync of its commits in turn, so all but the last few kills happen
  /// inside a commit.
  @Test(
    .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"),
    arguments: [
      "pwrite", "sync",
    ])
  func aKillAtEveryStepOfACommitLeavesWholeBatches(call: String) async throws {
    var killsInsideCommits = 0
    for step in 1...60 {
      let directory = try TemporaryDirectory()
      let helper = try HelperProcess(
        ["armed-commit", directory.path("store.db"), "kill:\(call):\(step)"],
        environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
      let lines = try helper.lines()
      helper.wait()
      guard !lines.contains(where: { $0.hasPrefix("reopened") }) else { break }  // No step is left.
      let begun = lines.filter { $0.hasPrefix("begin") }.count
      let acknowledged = lines.filter { $0.hasPrefix("ack") && $0 != "ack before" }.count
      if begun > acknowledged { killsInsideCommits += 1 }
      let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
      #expect(try await engine.entry(KeyName("before")) != nil)
      for number in 0..<4 {
        let left = try await engine.entry(KeyName("left/\(number)"))
        let right = try await engine.entry(KeyName("right/\(number)"))
        #expect((left == nil) == (right == nil), "half a batch after a kill at \(call) \(step)")
        if lines.contains("ack \(number)") { #expect(left != nil, "lost after a kill at \(call) \(step)") }
      }
      try await engine.close()
    }
    #expect(killsInsideCommits >= 3)
  }
}

/// A loop that kills writers at random moments and compares the acknowledged commits with the stored ones.
private struct KillLoop {
  let rounds: Int
  let seed: UInt64

  func run() async throws {
    var random = SeededGenerator(seed: seed)
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }  // an optimized build would release it after its last use
    let path = directory.path("store.db")
    var killsInsideCommits = 0
    for round in 0..<rounds {
      let name = "round\(round)"
      let helper = try HelperProcess(["write", path, round.isMultiple(of: 3) ? "relaxed" : "full", name])
      // The helper reports each step; it is killed after a random number of steps.
      let steps = Int.random(in: 1...120, using: &random)
      var lines: [String] = []
      for _ in 0..<steps { lines.append(try helper.line() ?? "") }
      if lines.last?.hasPrefix("begin") == true { pause(upTo: .microseconds(150), using: &random) }
      helper.kill()
      lines += try helper.lines()
      helper.wait()
      if lines.last?.hasPrefix("begin") == true { killsInsideCommits += 1 }
      try await check(path, name, lines, round)
    }
    print("killed \(rounds) writers, \(killsInsideCommits) of them inside a commit (seed \(seed))")
    #expect(killsInsideCommits > 0, "seed \(seed)")
  }

  private func check(_ path: String, _ name: String, _ lines: [String], _ round: Int) async throws {
    let acknowledged = lines.filter { $0.hasPrefix("ack") }.count
    let begun = lines.filter { $0.hasPrefix("begin") }.count
    let engine = try await SQLiteEngine.open(at: path)
    let (left, right) = try await engine.withSnapshot { snapshot in
      let left = try await snapshot.page(prefix: KeyName("\(name)/left/"), after: nil, limit: .max)
      let right = try await snapshot.page(prefix: KeyName("\(name)/right/"), after: nil, limit: .max)
      return (left, right)
    }
    #expect(left.count >= acknowledged, "round \(round), seed \(seed): \(acknowledged - left.count) lost")
    #expect(left.count <= begun, "round \(round), seed \(seed): more than were begun")
    #expect(left.map(\.value) == right.map(\.value), "round \(round), seed \(seed): half a batch")
    let numbers = left.compactMap { Int($0.key.string.split(separator: "/").last ?? "") }.sorted()
    #expect(numbers == Array(0..<left.count), "round \(round), seed \(seed): a gap")
    try await engine.close()
  }
}
