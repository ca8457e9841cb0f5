#if os(Linux) || os(macOS)
  import CofferCore
  import CofferCrypto
  import CofferEncryption
  import CofferLocks
  import CofferSQLite
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Older copies of single values in the files of a store that covers its values, put back by another program.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct StoredValueFreshnessTests {
    private let directory: TemporaryDirectory
    private let anchor: FileAnchor

    init() throws {
      directory = try TemporaryDirectory()
      anchor = FileAnchor(URL(fileURLWithPath: directory.path("elsewhere/anchor")))
      try FileManager.default.createDirectory(atPath: directory.path("store"), withIntermediateDirectories: true)
    }

    private func open(
      _ kind: BaseStore, _ settings: EncryptionSettings = EncryptionSettings(), accepts: Bool = false
    ) async throws -> EncryptedEngine {
      let base = try await kind.open(in: URL(fileURLWithPath: directory.path("store")))
      do { return try await base.anchored(anchor, settings, accepts: accepts, coversValues: true) } catch {
        try await base.close()
        throw error
      }
    }

    private func write(_ kind: BaseStore, _ settings: EncryptionSettings, _ values: [StoreKey: String]) async throws {
      let engine = try await open(kind, settings)
      for (key, value) in values { try await engine.put(key, value) }
      try await engine.close()
    }

    /// Returns the files of a copy of the store, the databases first.
    private func files(_ copy: String) throws -> (databases: [String], others: [String]) {
      var (databases, others): ([String], [String]) = ([], [])
      for case let path as String in FileManager.default.enumerator(atPath: directory.path(copy)) ?? .init() {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: directory.path("\(copy)/\(path)"), isDirectory: &isDirectory),
          !isDirectory.boolValue
        else { continue }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path("\(copy)/\(path)")))
        if bytes.starts(with: Data("SQLite format 3".utf8)) { databases.append(path) } else { others.append(path) }
      }
      return (databases, others)
    }

    /// Puts the row of a key, and the files of the values, as an older copy of the store has them.
    private func restore(_ key: StoreKey, from copy: String) throws {
      let (databases, others) = try files(copy)
      #expect(databases.count == 1)
      for database in databases {
        let row = "coffer_values WHERE key = CAST('\(key)' AS BLOB)"
        try directory.execute(
          "store/\(database)",
          """
          ATTACH '\(directory.path("\(copy)/\(database)"))' AS old; DELETE FROM main.\(row);
          INSERT INTO main.coffer_values SELECT * FROM old.\(row)
          """)
      }
      for file in others where !file.contains(".coffer") {
        try? FileManager.default.removeItem(atPath: directory.path("store/\(file)"))
        try FileManager.default.copyItem(
          atPath: directory.path("\(copy)/\(file)"), toPath: directory.path("store/\(file)"))
      }
    }

    @Test(
      "The row and the file of one older value are refused until they are accepted",
      arguments: [BaseStore.sqlite, .file, .prefs], [EncryptionSettings(), .hidden])
    func olderRow(_ kind: BaseStore, _ settings: EncryptionSettings) async throws {
      // The files of all values are put back, so that there is one value.
      try await write(kind, settings, ["key": "one"])
      try directory.copy("store", to: "old")
      try await write(kind, settings, ["key": "two"])
      try directory.copy("store", to: "new")
      let base = try await kind.open(in: URL(fileURLWithPath: directory.path("store")))
      let stored = try #require(try await base.summaries().first?.key)
      try await base.close()
      try restore(stored, from: "old")
      for _ in 0..<2 {
        let error = try await storageError { _ = try await open(kind, settings) }
        #expect(error.code == .rolledBack && error.message.contains("a value was replaced by an older one"), "\(error)")
      }
      // A store without the anchor does not notice it.
      let unaware = try await kind.open(in: URL(fileURLWithPath: directory.path("store"))).encrypted(settings)
      #expect(try await unaware.text("key") == "one")
      try await unaware.close()
      try directory.copy("new", to: "store")
      try await open(kind, settings).close()
      try restore(stored, from: "old")
      let accepted = try await open(kind, settings, accepts: true)
      #expect(try await accepted.text("key") == "one")
      try await accepted.close()
      try await write(kind, settings, ["key": "three"])
      try await open(kind, settings).close()
    }

    @Test("A row that was removed, and one that was removed and put back", arguments: [BaseStore.sqlite])
    func removedRow(_ kind: BaseStore) async throws {
      try await write(kind, EncryptionSettings(), ["key": "one", "other": "1"])
      try directory.copy("store", to: "old")
      try directory.execute("store/store.db", "DELETE FROM coffer_values WHERE key = CAST('other' AS BLOB)")
      let error = try await storageError { _ = try await open(kind) }
      #expect(error.code == .rolledBack && error.message.contains("values: 1 of 2"), "\(error)")
      try directory.copy("old", to: "store")
      let engine = try await open(kind)
      try await engine.commit(WriteBatch([.delete("other")]), from: StoreOrigin())
      try await engine.close()
      try restore("other", from: "old")
      #expect(try await storageError { _ = try await open(kind) }.code == .rolledBack)
    }

    @Test("A value with damaged attributes is damage until it is replaced, and other values are written meanwhile")
    func damagedAttributes() async throws {
      try await write(.sqlite, EncryptionSettings(), ["a": "1", "key": "one", "z": "2"])
      let engine = try await open(.sqlite)
      try directory.execute(
        "store/store.db", "UPDATE coffer_values SET attributes = x'040500' WHERE key = CAST('key' AS BLOB)")
      let error = try await storageError { try await engine.verifyFreshness() }
      #expect(error.code == .damaged && error.message.contains("attributes of a value"), "\(error)")
      #expect(try await storageError { _ = try await open(.sqlite) }.code == .damaged)
      try await engine.put("a", "new")
      #expect(try await storageError { try await engine.verifyFreshness() }.code == .damaged)
      try await engine.put("key", "two")
      try await engine.verifyFreshness()
      try await engine.close()
      try await open(.sqlite).close()
      // Or until it is accepted.
      try directory.execute(
        "store/store.db", "UPDATE coffer_values SET attributes = x'040500' WHERE key = CAST('key' AS BLOB)")
      let accepted = try await open(.sqlite, accepts: true)
      try await accepted.commit(WriteBatch([.clear(prefix: "k")]), from: StoreOrigin())
      try await accepted.verifyFreshness()
      #expect(try await accepted.summaries().map(\.key) == ["a", "z"])
      try await accepted.close()
    }

    @Test(
      "An envelope that does not open can be put into the quarantine and replaced",
      arguments: [BaseStore.sqlite, .file])
    func quarantined(_ kind: BaseStore) async throws {
      let engine = try await open(kind)
      try await engine.put("key", "one")
      let stored = try #require(try await engine.base.entry("key"))
      var value = stored.value
      value[70] ^= 1
      try await engine.base.commit(WriteBatch([.put("key", value, stored.attributes)]), from: StoreOrigin())
      let damage = try #require(try await engine.damage(of: "key"))
      // The version is that of the record: what was changed is noticed when it is read.
      try await engine.verifyFreshness()
      try await engine.commit(
        WriteBatch([.require("key", damage.revision), .put("key", Data("two".utf8))]), from: StoreOrigin())
      try await engine.verifyFreshness()
      #expect(try await engine.quarantinedValues().count == 1)
      try await engine.close()
      try await open(kind).close()
    }

    @Test("A precondition that fails is that of the caller, and changes nothing")
    func preconditions() async throws {
      let engine = try await open(.sqlite)
      let commit = try await engine.put("key", "one")
      let other = try await open(.sqlite)
      for handle in [engine, other] {
        let stale = WriteBatch([.require("key", nil), .put("key", Data("two".utf8))])
        let error = try await storageError { try await handle.commit(stale, from: StoreOrigin()) }
        #expect(error.code == .preconditionFailed)
      }
      let next = try await other.commit(
        WriteBatch([.require("key", commit.revision), .put("key", Data("two".utf8))]), from: StoreOrigin())
      try await engine.commit(
        WriteBatch([.require("key", next.revision), .put("key", Data("three".utf8))]), from: StoreOrigin())
      try await engine.verifyFreshness()
      try await other.verifyFreshness()
      try await engine.close()
      try await other.close()
      try await open(.sqlite).close()
    }
  }
#endif
