import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Deletion of the journal, or of all of `.coffer`: the values are files, so none is lost.
@Suite(.blocking, .serialized) struct LostJournalTests {
  enum Loss: String, CaseIterable, Sendable {
    case journal, journalButNotItsLog, emptied, everything
  }

  private func lose(_ loss: Loss, _ directory: StoreDirectory) throws {
    switch loss {
    case .journal: for suffix in ["", "-wal", "-shm", "-wake"] { unlink(directory.control("journal.db" + suffix)) }
    case .journalButNotItsLog: unlink(directory.control("journal.db"))
    case .emptied: truncate(directory.control("journal.db"), 0)
    case .everything: try FileManager.default.removeItem(atPath: directory.control(""))
    }
  }

  /// Creates a store as a killed process leaves it, with its write-ahead log.
  private func killed() async throws -> StoreDirectory {
    let directory = try await StoreDirectory.filled()
    let helper = try directory.run("files-watch")
    #expect(try helper.line() == "ready")
    let engine = try await directory.open()
    for index in 0..<20 {
      try await engine.commit(WriteBatch([.put(KeyName("more/\(index)"), Data("\(index)".utf8))]), from: StoreOrigin())
    }
    try await engine.close()
    helper.kill()
    helper.wait()
    #expect(try directory.names(in: "").contains("journal.db-wal"))
    return directory
  }

  @Test(arguments: Loss.allCases)
  func theNextOpenMakesItAnew(_ loss: Loss) async throws {
    let directory = try await killed()
    let before = try directory.contents()
    try lose(loss, directory)
    let reports = Locked<[RecoveryReport]>([])
    let engine = try await directory.open {
      $0.onRecovery = { report in reports.withLock { $0.append(report) } }
    }
    // The key of a hashed name is stored in `names` only.
    var expected = FileScenario.before
    if loss == .everything { expected[FileScenario.longKey] = nil }
    for index in 0..<20 { expected["more/\(index)"] = "\(index)" }
    #expect(try await values(engine) == expected)
    let report = try #require(reports.withLock { $0.first })
    #expect(report.wasRebuilt && report.edited == expected.count && report.completed == 0)
    #expect(try directory.contents() == before)
    // A subscriber whose position belongs to the lost journal receives a reload.
    let stream = engine.changes(since: StoreRevision(21))
    let first = Task { () -> StoreChange? in
      for await change in stream { return change }
      return nil
    }
    let change = try await finish(first, within: .seconds(60))
    guard case .reload = change else { throw TestFailure("\(String(describing: change))") }
    if loss == .everything {
      // Writing the key once more restores its name file.
      try await engine.commit(
        WriteBatch([.put(KeyName(FileScenario.longKey), Data("again".utf8))]), from: StoreOrigin())
    }
    try await engine.close()
    let again = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    #expect(try await again.entry(KeyName(FileScenario.longKey)) != nil)
    #expect(try await values(again).count == 27)
    try await again.close()
  }

  @Test(arguments: [Loss.journal, .everything])
  func anOpenStoreClosesItself(_ loss: Loss) async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    try lose(loss, directory)
    var refusal: StorageError?
    var stored: [String] = []
    var index = 0
    try await eventually("the engine is closed") {
      index += 1
      do {
        try await engine.commit(WriteBatch([.put(KeyName("late\(index)"), Data("x".utf8))]), from: StoreOrigin())
        stored.append("late\(index)")
      } catch let error as StorageError {
        refusal = error
      }
      return refusal?.code == .closed
    }
    #expect(refusal?.message.contains("deleted") == true, "\(String(describing: refusal))")
    try await engine.close()
    // A value acknowledged meanwhile is in its file, and the next open finds it.
    let again = try await directory.open()
    let found = try await values(again)
    #expect(found["theme"] == "old theme")
    for key in stored { #expect(found[key] == "x") }
    try await again.close()
  }

  /// `names` is deleted under an open store: a write throws before anything is stored.
  @Test func deletedNamesLoseNoValue() async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    try FileManager.default.removeItem(atPath: directory.control("names"))
    let key = try KeyName("another " + FileScenario.longKey.dropLast(8))
    await expectError(.inputOutput, contains: "removed while the store was open") {
      try await engine.commit(WriteBatch([.put(key, Data("x".utf8))]), from: StoreOrigin())
    }
    #expect(try await engine.entry(key) == nil)
    try await engine.close()
    let again = try await directory.open()
    try await again.commit(WriteBatch([.put(key, Data("x".utf8))]), from: StoreOrigin())
    #expect(try await again.entry(key)?.value == Data("x".utf8))
    #expect(try directory.contents()[FileName(key).string] == Data("x".utf8))
    try await again.close()
  }

  /// Leftovers that were set aside earlier are kept, since they may be all that remains of a journal.
  @Test func aSecondLossKeepsWhatTheFirstHasLeft() async throws {
    let directory = try await killed()
    try lose(.journalButNotItsLog, directory)
    try await directory.open().close()
    let first = try Data(contentsOf: URL(fileURLWithPath: directory.control("journal.db-wal.lost")))
    unlink(directory.control("journal.db"))
    try overwrite(directory.control("journal.db-wal"), "the second log")
    try await directory.open().close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.control("journal.db-wal.lost"))) == first)
    let second = try Data(contentsOf: URL(fileURLWithPath: directory.control("journal.db-wal.lost-2")))
    #expect(second == Data("the second log".utf8))
  }
}
