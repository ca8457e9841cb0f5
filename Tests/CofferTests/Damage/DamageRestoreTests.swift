import CofferRouter
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Damaged values that are restored from backups.
@Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct DamageRestoreTests {
  private let stores = DamagedStores()
  private static let kinds = TestedStore.with(.local, .plain)
  private let key = KeyName("k")

  private func backUp(_ engine: any StorageEngine, to url: URL) async throws {
    if let engine = engine.as(SQLiteEngine.self) { try await engine.backup(to: url) }
    if let engine = engine.as(SlotEngine.self) { try await engine.backup(to: url) }
  }

  private func load(_ engine: any StorageEngine, _ policy: DamagePolicy<Data>, _ handled: Handled) async throws
    -> String?
  {
    try await TypedStore(engine: engine, damagePolicy: policy, onDamageHandled: handled.add).load(
      String.self, for: key)
  }

  // Requirement 5.8
  @Test(arguments: kinds) func theNewestGoodValueIsRestored(_ kind: TestedStore) async throws {
    let damaged = try await stores.make(kind) { engine, directory in
      let store = TypedStore(engine: engine)
      for (name, text) in [("first", "first"), ("second", DamagedStore.text), ("third", DamagedStore.text)] {
        try await store.save(text, for: "k", expires: kind == .prefs ? nil : .now + 3_600)
        try await backUp(engine, to: directory.url.appendingPathComponent(name))
      }
    }
    let urls = ["absent", "second", "first", "third"].map { damaged.directory.url.appendingPathComponent($0) }
    // The newest backup is damaged as well.
    try Data("garbage".utf8).write(to: urls[3])
    let files = try FileManager.default.contentsOfDirectory(atPath: damaged.directory.url.path).sorted()
    let engine = try await damaged.open()
    let handled = Handled()
    #expect(try await load(engine, .restoreLastGood(from: urls), handled) == DamagedStore.text)
    #expect(handled.outcomes == ["restored second"])
    if kind != .prefs {
      #expect(try await engine.entry(key)?.attributes.expires != nil, "the expiry is restored, too")
    }
    try await engine.close()
    let left = try FileManager.default.contentsOfDirectory(atPath: damaged.directory.url.path).sorted()
    #expect(
      left.filter { !$0.hasPrefix("store") } == files.filter { !$0.hasPrefix("store") }, "nothing beside a backup")
  }

  // Requirement 5.8
  @Test func aBackupOfAnotherStoreIsNotUsed() async throws {
    let other = try TemporaryDirectory()
    let foreign = other.url.appendingPathComponent("backup")
    let stranger = try await SQLiteEngine.open(at: other.path("store"))
    try await TypedStore(engine: stranger).save("of another store", for: key)
    try await stranger.backup(to: foreign)
    try await stranger.close()
    for kind in Self.kinds {
      let engine = try await stores.make(kind).open()
      let before = engine.latestRevision
      let handled = Handled()
      await expectStorageError(.damaged, contains: "another store") {
        _ = try await load(engine, .restoreLastGood(from: [foreign]), handled)
      }
      #expect(engine.latestRevision == before && handled.outcomes == ["failed"])
      // The rest of the policy applies, and is told why.
      let policy = DamagePolicy.restoreLastGood(from: [foreign], otherwise: .replace(with: Data("default".utf8)))
      #expect(try await load(engine, policy, handled) == "default")
      #expect(handled.outcomes.last == "replaced" && handled.last?.obstacles.first?.message.contains("another") == true)
      try await engine.close()
    }
  }

  /// A journal of a store of files is a database with the same identity, but holds no values.
  @Test func aJournalIsNoBackup() async throws {
    let damaged = try await stores.make(.file)
    let journal = damaged.directory.url.appendingPathComponent("files/.coffer/journal.db")
    #expect(FileManager.default.fileExists(atPath: journal.path))
    let engine = try await damaged.open()
    await expectStorageError(.damaged) {
      _ = try await load(engine, .restoreLastGood(from: [journal]), Handled())
    }
    try await engine.close()
  }

  @Test func anExpiredOrAbsentValueOfABackupIsNone() async throws {
    let damaged = try await stores.make(.sqlite) { engine, directory in
      try await TypedStore(engine: engine).save(DamagedStore.text, for: "k", expires: .now - 60)
      try await backUp(engine, to: directory.url.appendingPathComponent("expired"))
      try await TypedStore(engine: engine).delete("k")
      try await backUp(engine, to: directory.url.appendingPathComponent("absent"))
      try await TypedStore(engine: engine).save(DamagedStore.text, for: "k")
    }
    let engine = try await damaged.open()
    let urls = ["expired", "absent"].map { damaged.directory.url.appendingPathComponent($0) }
    await expectStorageError(.damaged, contains: "no value") {
      _ = try await load(engine, .restoreLastGood(from: urls), Handled())
    }
    try await engine.close()
  }

  /// Backups hold their values unencrypted, so none of secrets exist.
  @Test func secretsAreNotRestored() async throws {
    let engine = try await stores.make(.sealed).open()
    await expectStorageError(.damaged, contains: "backups") {
      _ = try await load(engine, .restoreLastGood(from: [URL(fileURLWithPath: "/backup")]), Handled())
    }
    try await engine.close()
    let key = TypedKey<String>(
      secret: "token", in: .keychain(), owner: "Tests", about: "A token.", damage: .restoreLastGood(from: []))
    await expectStorageError(.invalidDeclaration) { _ = try await StorageRouter().get(key) }
  }
}
