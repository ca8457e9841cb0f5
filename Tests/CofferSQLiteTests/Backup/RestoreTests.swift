import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A restoration replaces a store completely or not at all, and open handles and subscribers notice it.
@Suite(.blocking, .serialized) struct RestoreTests {
  private let origin = StoreOrigin()

  /// A store whose `k` is "new" and, beside it, a backup in which `k` is "old".
  private final class Scene: Sendable {
    let directory: TemporaryDirectory
    var store: String { directory.path("store.db") }
    var backup: String { directory.path("backup.db") }

    init() async throws {
      directory = try TemporaryDirectory()
      let engine = try await SQLiteEngine.open(at: store)
      try await engine.put("k", "old")
      try await engine.put("only-old", "x")
      try await engine.backup(to: backup)
      try await engine.put("k", "new")
      try await engine.commit(WriteBatch([.delete(KeyName("only-old"))]), from: StoreOrigin())
      try await engine.put("only-new", "y")
      try await engine.close()
    }

    /// Returns the names of all files in the directory except the backup.
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: directory.url.path).filter { $0 != "backup.db" }.sorted()
    }
  }

  @Test func aBackupReplacesTheStoreAndTheOldOneIsKept() async throws {
    let scene = try await Scene()
    let report = try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    #expect(report.values == 2)
    let kept = try #require(report.replaced)
    #expect(try scene.names().count == 2)
    let engine = try await SQLiteEngine.open(at: scene.store)
    #expect(try await engine.content() == ["k": "old", "only-old": "x"])
    #expect(engine.latestRevision == report.revision && report.revision > StoreRevision(5))
    let replaced = try await SQLiteEngine.open(at: kept)
    #expect(try await replaced.content() == ["k": "new", "only-new": "y"])
    for engine in [engine, replaced] { try await engine.close() }
    // The backup itself is unchanged.
    let backup = try await SQLiteEngine.open(at: scene.backup)
    #expect(try await backup.content() == ["k": "old", "only-old": "x"])
    try await backup.close()
  }

  @Test func positionsOfTheOldHistoryAreToldToReload() async throws {
    let scene = try await Scene()
    try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    let engine = try await SQLiteEngine.open(at: scene.store)
    var changes = engine.changes(since: StoreRevision(4)).makeAsyncIterator()
    guard case .reload? = await changes.next() else { throw TestFailure("other commits under known revisions") }
    for await availability in engine.availability() {
      #expect(availability == .available, "a restoration is no loss")
      break
    }
    try await engine.close()
  }

  @Test func nothingIsKeptWhereThatIsNotWanted() async throws {
    let scene = try await Scene()
    var options = RestoreOptions()
    options.keepsReplaced = false
    #expect(try await SQLiteEngine.restore(from: scene.backup, to: scene.store, options: options).replaced == nil)
    #expect(try scene.names() == ["store.db"])
  }

  @Test func aMissingStoreIsMade() async throws {
    let scene = try await Scene()
    let path = scene.directory.path("fresh.db")
    #expect(try await SQLiteEngine.restore(from: scene.backup, to: path).replaced == nil)
    let engine = try await SQLiteEngine.open(at: path)
    #expect(try await engine.content() == ["k": "old", "only-old": "x"])
    try await engine.close()
  }

  /// A log beside a missing database belongs to that database, and would corrupt another.
  @Test func aLogWithoutItsDatabaseIsSetAside() async throws {
    let scene = try await Scene()
    let engine = try await SQLiteEngine.open(at: scene.store)
    try await engine.put("k", "newest")
    try FileManager.default.copyItem(atPath: scene.store + "-wal", toPath: scene.directory.path("log"))
    try await engine.close()
    try FileManager.default.removeItem(atPath: scene.store)
    try FileManager.default.moveItem(atPath: scene.directory.path("log"), toPath: scene.store + "-wal")
    try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    let again = try await SQLiteEngine.open(at: scene.store)
    #expect(try await again.content() == ["k": "old", "only-old": "x"])
    try await again.close()
    #expect(try scene.names().contains { $0.hasPrefix("store.db.replaced-") && $0.hasSuffix("-wal") })
  }

  // Requirement 1.57
  @Test(arguments: [0, 100, 5_000, 9_000, 20_000])
  func aDamagedStoreIsReplaced(at offset: UInt64) async throws {
    let scene = try await Scene()
    try flip(scene.store, at: offset)
    let report = try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    #expect(report.replaced != nil)
    let engine = try await SQLiteEngine.open(at: scene.store)
    #expect(try await engine.content() == ["k": "old", "only-old": "x"])
    try await engine.close()
  }

  @Test func aDamagedBackupChangesNothing() async throws {
    let scene = try await Scene()
    let whole = try Data(contentsOf: URL(fileURLWithPath: scene.backup))
    let before = try Data(contentsOf: URL(fileURLWithPath: scene.store))
    let names = try scene.names()
    var random = SeededGenerator(seed: 5)
    for _ in 0..<40 {
      try whole.write(to: URL(fileURLWithPath: scene.backup))
      try flip(scene.backup, at: UInt64.random(in: 0..<UInt64(whole.count), using: &random))
      let error = await #expect(throws: StorageError.self) {
        try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
      }
      #expect([.damaged, .notAStore, .newerFormat].contains(error?.code), "\(error.debugDescription)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: scene.store)) == before)
      #expect(try scene.names() == names)
    }
    for (content, code) in [(Data(), StorageError.Code.notFound), (Data("text".utf8), .notAStore)] {
      try content.write(to: URL(fileURLWithPath: scene.backup))
      let error = await #expect(throws: StorageError.self) {
        try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
      }
      #expect(error?.code == code, "\(error.debugDescription)")
    }
    try FileManager.default.removeItem(atPath: scene.backup)
    let error = await #expect(throws: StorageError.self) {
      try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    }
    #expect(error?.code == .notFound)
    #expect(try Data(contentsOf: URL(fileURLWithPath: scene.store)) == before)
  }

  @Test func theDatabaseOfAnotherApplicationIsNotReplaced() async throws {
    let scene = try await Scene()
    let path = scene.directory.path("cities.sqlite")
    try sql("CREATE TABLE cities (name)", on: path)
    let error = await #expect(throws: StorageError.self) {
      try await SQLiteEngine.restore(from: scene.backup, to: path)
    }
    #expect(error?.code == .notAStore)
    // Nor is it a backup.
    let other = await #expect(throws: StorageError.self) { try await SQLiteEngine.restore(from: path, to: scene.store) }
    #expect(other?.code == .notAStore)
    let same = await #expect(throws: StorageError.self) {
      try await SQLiteEngine.restore(from: scene.store, to: scene.store)
    }
    #expect(same?.code == .preconditionFailed)
  }

  // MARK: Stores that are open

  @Test func aStoreThatIsOpenIsRefused() async throws {
    let scene = try await Scene()
    let here = try await SQLiteEngine.open(at: scene.store)
    let error = await #expect(throws: StorageError.self) {
      try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    }
    #expect(error?.code == .busy)
    try await here.put("k", "newer")
    try await here.close()
    let helper = try HelperProcess(["hold-open", scene.store])
    #expect(try helper.line() == "open")
    let other = await #expect(throws: StorageError.self) {
      try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    }
    #expect(other?.code == .busy)
    helper.kill()
    helper.wait()
    let engine = try await SQLiteEngine.open(at: scene.store)
    #expect(try await engine.entry(KeyName("k"))?.value == Data("newer".utf8))
    try await engine.close()
    try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
  }

  @Test func aStoreThatIsOpenIsTakenOverAndItsHandlesEnd() async throws {
    let scene = try await Scene()
    let helper = try HelperProcess(["hold-open", scene.store])
    #expect(try helper.line() == "open")
    let here = try await SQLiteEngine.open(at: scene.store)
    let changes = here.changes(since: nil)
    var options = RestoreOptions()
    options.takesOver = true
    let report = try await here.withSnapshot { [scene, options] snapshot in
      let report = try await SQLiteEngine.restore(from: scene.backup, to: scene.store, options: options)
      // An open snapshot keeps its state.
      #expect(try await snapshot.entries([KeyName("k")]).first??.value == Data("new".utf8))
      return report
    }
    // The handle ends, and its streams finish.
    for await change in changes {
      if case .commit(let commit) = change { #expect(commit.changed.isEverything || commit.origin != nil) }
    }
    let error = await #expect(throws: StorageError.self) { try await here.put("k", "late") }
    #expect(error?.code == .closed)
    helper.tell("go on")
    #expect(try helper.line() == "ended closed")
    helper.wait()
    try await here.close()
    let engine = try await SQLiteEngine.open(at: scene.store)
    #expect(try await engine.entry(KeyName("only-old")) != nil && engine.latestRevision >= report.revision)
    let kept = try await SQLiteEngine.open(at: try #require(report.replaced))
    #expect(try await kept.content() == ["k": "new", "only-new": "y"])
    for engine in [engine, kept] { try await engine.close() }
  }

  // MARK: Kills

  @Test(arguments: RestoreStep.allCases, [false, true])
  func aKilledRestorationLeavesTheOldStateOrTheNew(_ step: RestoreStep, takesOver: Bool) async throws {
    let scene = try await Scene()
    let other = takesOver ? try await SQLiteEngine.open(at: scene.store) : nil
    let helper = try HelperProcess(
      ["restore", scene.store, scene.backup, step.rawValue] + (takesOver ? ["take over"] : []))
    let steps = try helper.lines()
    helper.wait()
    #expect(steps.last == "step \(step.rawValue)", "\(steps)")
    let isNew = step == .placed || step == .finished
    try await other?.close()
    for name in try scene.names() where name.contains(".replaced-") && !name.hasSuffix("-wal") {
      let kept = try await SQLiteEngine.open(at: scene.directory.path(name))
      let content = try await kept.content()
      #expect(content == ["k": "new", "only-new": "y"] || content == ["k": "old", "only-old": "x"])
      try await kept.close()
    }
    let engine = try await SQLiteEngine.open(at: scene.store)
    let content = try await engine.content()
    #expect(content == (isNew ? ["k": "old", "only-old": "x"] : ["k": "new", "only-new": "y"]), "at \(step)")
    for await availability in engine.availability() {
      #expect(availability == .available)
      break
    }
    try await engine.put("k", "goes on")
    try await engine.close()
    // The remains of the killed process do not prevent the next restoration.
    try await SQLiteEngine.restore(from: scene.backup, to: scene.store)
    #expect(try !scene.names().contains { $0.hasPrefix(".") })
  }
}

extension SQLiteEngine {
  fileprivate func put(_ key: String, _ text: String) async throws {
    try await commit(WriteBatch([.put(KeyName(key), Data(text.utf8))]), from: StoreOrigin())
  }

  fileprivate func content() async throws -> [String: String] {
    try await withSnapshot { snapshot in
      let page = try await snapshot.page(prefix: nil, after: nil, limit: .max)
      return Dictionary(uniqueKeysWithValues: page.map { ($0.key.string, String(decoding: $0.value, as: UTF8.self)) })
    }
  }
}
