import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// The invariants that must hold after a batch of ``FileScenario`` was interrupted at any point.
struct Aftermath {
  let directory: StoreDirectory
  var before = FileScenario.before
  var after = FileScenario.after
  /// The revision before the batch.
  var revision = StoreRevision(1)
  /// Whether a later write was stored after the batch.
  var isLaterStored = false
  let comment: Comment

  /// Opens the store and checks every invariant.
  /// - Returns: Whether the batch was committed.
  func check(mustBeNew: Bool = false, mustBeOld: Bool = false) async throws -> Bool {
    let damages = Locked<[DamageReport]>([])
    let reports = Locked<[RecoveryReport]>([])
    let engine = try await directory.open {
      $0.onDamage = { report in damages.withLock { $0.append(report) } }
      $0.onRecovery = { report in reports.withLock { $0.append(report) } }
    }
    var found = try await values(engine)
    try checkFiles(found)
    if isLaterStored { #expect(found.removeValue(forKey: "later") == "x", comment) }
    let isNew = found == after
    #expect(isNew || found == before, "neither old nor new: \(found); \(comment)")
    if mustBeNew { #expect(isNew, comment) }
    if mustBeOld { #expect(!isNew, comment) }
    for (key, value) in isNew ? after : before {
      #expect(try await engine.entry(KeyName(key))?.value == Data(value.utf8), comment)
    }
    let journal = try await commits(engine, after: revision)
    #expect(journal.count == (isNew ? 1 : 0) + (isLaterStored ? 1 : 0), "\(journal); \(comment)")
    #expect(journal.allSatisfy { $0.transaction != nil && $0.origin != nil }, comment)
    #expect(engine.latestRevision.rawValue == revision.rawValue + UInt64(journal.count), comment)
    #expect(damages.withLock { $0.isEmpty }, comment)
    #expect(reports.withLock { $0.allSatisfy { $0.edited == 0 && !$0.wasRebuilt } }, comment)
    try await engine.close()
    return isNew
  }

  /// Checks that the files are exactly the values and that nothing is left staged.
  private func checkFiles(_ values: [String: String]) throws {
    var expected: [String: Data] = [:]
    for (key, value) in values { expected[FileName(try KeyName(key)).string] = Data(value.utf8) }
    #expect(try directory.contents() == expected, comment)
    for folder in ["staged", "retained", "quarantine"] {
      #expect(try directory.names(in: folder) == [], "\(folder); \(comment)")
    }
    let hashed = Set(expected.keys.filter { FileName.isHashed($0) })
    #expect(hashed.isSubset(of: try directory.names(in: "names")), comment)
  }
}
