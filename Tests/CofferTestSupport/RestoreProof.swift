import CofferCore
package import CofferFiles
import CofferSQLite
import Foundation

/// A slot store whose restoration is tested.
package struct RestoreSubject {
  /// Opens the store.
  package let open: () async throws -> SlotEngine
  /// Returns the path of a file next to the store.
  package let outside: (_ name: String) -> String
  /// Restores a backup in a process that is killed before the given step.
  package let restore: (_ backup: String, _ step: Int) throws -> HelperProcess

  package init(
    open: @escaping () async throws -> SlotEngine, outside: @escaping (_ name: String) -> String,
    restore: @escaping (_ backup: String, _ step: Int) throws -> HelperProcess
  ) {
    (self.open, self.outside, self.restore) = (open, outside, restore)
  }
}

extension RestoreScenario {
  /// Restores the old state, then the new one, and returns the state of the store after each, followed by the state of
  /// the old state's backup when it is opened as a store.
  package static func thereAndBack(in subject: RestoreSubject) async throws -> [State] {
    let engine = try await subject.open()
    let (backup, replaced) = (subject.outside("a.backup"), subject.outside("replaced.backup"))
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

  /// Returns the states of stores after restorations that were killed before each step, and after a complete one.
  package static func afterKills(in makeSubject: () throws -> RestoreSubject) async throws -> [State] {
    var found: [State] = []
    for step in 1...100 {
      let subject = try makeSubject()
      let backup = subject.outside("a.backup")
      let engine = try await subject.open()
      try await engine.commit(batch(to: old), from: StoreOrigin())
      try await engine.backup(to: backup)
      try await engine.commit(batch(to: new), from: StoreOrigin())
      try await engine.close()
      let helper = try subject.restore(backup, step)
      let lines = try helper.lines()
      helper.wait()
      let again = try await subject.open()
      found.append(try await state(of: again))
      try await again.close()
      if lines.last == "restored" { return found }
      guard lines.last?.hasPrefix("step") == true else { throw TestFailure("step \(step) ended with \(lines)") }
    }
    throw TestFailure("no restoration was completed")
  }
}
