import CofferCore
import CofferSQLite
package import CofferSlots
import Foundation

/// A home of slots whose restorations are tried.
package struct RestoreHome {
  /// Opens the home.
  package let open: () async throws -> SlotEngine
  /// A path of this name beside the home.
  package let outside: (_ name: String) -> String
  /// Restores a backup in a process that is killed in front of a step.
  package let restore: (_ backup: String, _ step: Int) throws -> HelperProcess

  package init(
    open: @escaping () async throws -> SlotEngine, outside: @escaping (_ name: String) -> String,
    restore: @escaping (_ backup: String, _ step: Int) throws -> HelperProcess
  ) {
    (self.open, self.outside, self.restore) = (open, outside, restore)
  }
}

extension RestoreScenario {
  /// What a home holds once its old state is restored, once the new one is back, and what the backup of the old one
  /// holds as a store of its own.
  package static func thereAndBack(in home: RestoreHome) async throws -> [State] {
    let engine = try await home.open()
    let (backup, replaced) = (home.outside("a.backup"), home.outside("replaced.backup"))
    try await engine.commit(batch(to: old), from: StoreOrigin())
    try await engine.backup(to: backup)
    try await engine.commit(batch(to: new), from: StoreOrigin())
    try await engine.restore(from: backup, keepingReplacedAt: replaced)
    var states = [try await state(of: engine)]
    try await engine.restore(from: replaced)
    states.append(try await state(of: engine))
    let copy = try await SQLiteEngine.open(at: backup)
    states.append(try await state(of: copy))
    for engine in [engine, copy] as [any StorageEngine] { try await engine.close() }
    return states
  }

  /// What homes hold after restorations that were killed in front of each of their steps, and after one that was not.
  package static func afterKills(in makeHome: () throws -> RestoreHome) async throws -> [State] {
    var found: [State] = []
    for step in 1...100 {
      let home = try makeHome()
      let backup = home.outside("a.backup")
      let engine = try await home.open()
      try await engine.commit(batch(to: old), from: StoreOrigin())
      try await engine.backup(to: backup)
      try await engine.commit(batch(to: new), from: StoreOrigin())
      try await engine.close()
      let helper = try home.restore(backup, step)
      let lines = try helper.lines()
      helper.wait()
      let again = try await home.open()
      found.append(try await state(of: again))
      try await again.close()
      if lines.last == "restored" { return found }
      guard lines.last?.hasPrefix("step") == true else { throw TestFailure("step \(step) ended with \(lines)") }
    }
    throw TestFailure("no restoration ended by itself")
  }
}
