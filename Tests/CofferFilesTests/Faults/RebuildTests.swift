import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Concurrent recoveries, and the loss of a journal with pending intents.
@Suite(.blocking, .serialized) struct RebuildTests {
  /// Creates a store with a committed batch whose values are all still staged.
  private func killedAfterCommit() async throws -> StoreDirectory {
    let directory = try await StoreDirectory.filled()
    let lines = try directory.run("files-commit", "6").lines()
    #expect(lines.last == "step committed")
    return directory
  }

  @Test func manyProcessesFinishAKilledWriterAtOnce() async throws {
    for round in 0..<5 {
      let directory = try await killedAfterCommit()
      let helpers = try (0..<5).map { _ in try directory.run("files-open", "1000") }
      for helper in helpers { #expect(try helper.lines().last == "closed", "round \(round)") }
      _ = try await Aftermath(directory: directory, comment: "round \(round)").check(mustBeNew: true)
    }
  }

  /// Some of the recovering processes are killed as well while others continue.
  @Test func helpersThatAreKilledBesideOthers() async throws {
    for step in 1...8 {
      let directory = try await killedAfterCommit()
      let helpers = try [step, 1_000, step + 1, 1_000].map { try directory.run("files-open", "\($0)") }
      for helper in helpers {
        let lines = try helper.lines()
        #expect(!lines.contains { $0.hasPrefix("error") }, "\(lines)")
        helper.wait()
      }
      _ = try await Aftermath(directory: directory, comment: "step \(step)").check(mustBeNew: true)
    }
  }

  /// Without the journal it is unknown that the batch was committed. Its values are kept for inspection.
  @Test func whatWaitedWhenTheJournalWasLostGoesToTheQuarantine() async throws {
    let directory = try await killedAfterCommit()
    let waiting = try directory.names(in: "staged")
    #expect(waiting.count == 4)
    for suffix in ["", "-wal", "-shm", "-wake"] { unlink(directory.control("journal.db" + suffix)) }
    // The first process that rebuilds the journal is killed at its first write to it.
    let dead = try directory.run("files-armed-open", "kill:pwrite:1", fault: true)
    #expect(try dead.lines().isEmpty)
    dead.wait()
    let engine = try await directory.open()
    #expect(try await values(engine) == FileScenario.before)
    #expect(try directory.names(in: "staged") == [])
    #expect(try directory.names(in: "quarantine") == waiting)
    try await engine.close()
  }
}
