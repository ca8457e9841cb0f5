import CofferCore
import CofferFiles
import CofferSQLite
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

/// Backups bring back values and the library's own records, both or neither.
@Suite(.serialized) struct FileRestoreTests {
  @Test func recordsComeBackWithTheValues() async throws {
    let home = try StoreDirectory()
    let engine = try await home.open()
    let backup = home.outside("a.backup")
    try await engine.commit(RestoreScenario.batch(to: RestoreScenario.old), from: Origin())
    try await engine.backup(to: backup)
    try await engine.commit(RestoreScenario.batch(to: RestoreScenario.new), from: Origin())
    try await engine.restore(from: backup, keepingReplacedAt: home.outside("replaced.backup"))
    #expect(try await RestoreScenario.state(of: engine) == RestoreScenario.old)
    try await engine.restore(from: home.outside("replaced.backup"))
    #expect(try await RestoreScenario.state(of: engine) == RestoreScenario.new)
    // The backup is a store of its own.
    let copy = try await SQLiteEngine.open(at: backup)
    #expect(try await RestoreScenario.state(of: copy) == RestoreScenario.old)
    for engine in [engine, copy] as [any StorageEngine] { try await engine.close() }
  }

  /// Killed in front of each step, until it ends by itself.
  @Test func aKilledRestorationLeavesTheOldStateOrTheNew() async throws {
    var found: [RestoreScenario.State] = []
    for step in 1...100 {
      let home = try StoreDirectory()
      let backup = home.outside("a.backup")
      let engine = try await home.open()
      try await engine.commit(RestoreScenario.batch(to: RestoreScenario.old), from: Origin())
      try await engine.backup(to: backup)
      try await engine.commit(RestoreScenario.batch(to: RestoreScenario.new), from: Origin())
      try await engine.close()
      let helper = try home.run("files-restore", backup, "\(step)")
      let lines = try helper.lines()
      helper.wait()
      let again = try await home.open()
      found.append(try await RestoreScenario.state(of: again))
      try await again.close()
      if lines.last == "restored" { break }
      #expect(lines.last?.hasPrefix("step") == true, "\(lines)")
    }
    #expect(found.count > 5 && found.last == RestoreScenario.old, "\(found)")
    #expect(found.allSatisfy { $0 == RestoreScenario.old || $0 == RestoreScenario.new }, "\(found)")
    #expect(found.first == RestoreScenario.new)
  }
}
