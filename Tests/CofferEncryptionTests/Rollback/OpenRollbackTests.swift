#if os(Linux) || os(macOS)
  import CofferCore
  import CofferEncryption
  import CofferSQLite
  import CofferTestSupport
  import CofferTestTraits
  import CofferTesting
  import Foundation
  import Testing

  /// What somebody who can write the database puts back while a process has the store open, by SQL.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct OpenRollbackTests {
    private let directory: TemporaryDirectory
    private let anchor: FileAnchor
    private var anchorPath: String { directory.path("elsewhere/anchor") }

    init() throws {
      directory = try TemporaryDirectory()
      anchor = FileAnchor(URL(fileURLWithPath: directory.path("elsewhere/anchor")))
      for name in ["store", "other"] {
        try FileManager.default.createDirectory(atPath: directory.path(name), withIntermediateDirectories: true)
      }
    }

    private func base(_ name: String = "store") async throws -> any StorageEngine {
      try await TestedStore.sqlite.open(in: URL(fileURLWithPath: directory.path(name)))
    }

    private func open(accepts: Bool = false) async throws -> EncryptedEngine {
      let base = try await base()
      do { return try await base.anchored(anchor, accepts: accepts) } catch {
        try await base.close()
        throw error
      }
    }

    /// Puts all values and the record of the rollback protection back, as they are in a copy.
    private func putBack(_ copy: String) throws {
      try directory.execute(
        "store/store.db",
        """
        ATTACH '\(directory.path(copy))/store.db' AS old;
        DELETE FROM main.coffer_values; INSERT INTO main.coffer_values SELECT * FROM old.coffer_values
        """)
      try directory.putBack([SystemRecord.Name.rollback], from: copy)
    }

    private func anchored() async throws -> AnchorRecord { try AnchorRecord(try #require(try await anchor.record())) }

    /// Opens the store after it was written, copied to `old` and anchored again some times.
    private func openAheadOfCopy() async throws -> EncryptedEngine {
      let writer = try await open()
      try await writer.put("key", "one")
      try await writer.close()
      try directory.copy("store", to: "old")
      let engine = try await open()
      for number in 0..<3 {
        try await engine.put("key", "\(number)")
        try await engine.flush()
      }
      return engine
    }

    @Test("An older store under an open one is refused by each update of the anchor")
    func olderStore() async throws {
      let engine = try await openAheadOfCopy()
      let known = try await anchor.record()
      try putBack("old")
      #expect(try await engine.text("key") == "one")
      // More updates than the copy is behind.
      for number in 0..<6 {
        try await engine.put("other", "\(number)")
        let error = try await storageError { try await engine.flush() }
        #expect(error.code == .rolledBack && error.message.contains("an older copy of itself"), "\(error)")
      }
      #expect(try await storageError { try await engine.close() }.code == .rolledBack)
      #expect(try await anchor.record() == known)
      #expect(try await storageError { _ = try await open() }.code == .rolledBack)
      let accepted = try await open(accepts: true)
      try await accepted.put("key", "three")
      try await accepted.close()
      try await open().close()
    }

    @Test("An older store with the anchor of its time is refused while a process knows a later number")
    func olderAnchor() async throws {
      let first = try await open()
      try await first.put("key", "one")
      try await first.close()
      try directory.copy("store", to: "old")
      try directory.copy("elsewhere", to: "old elsewhere")
      let engine = try await openAheadOfCopy()
      try directory.copy("old elsewhere", to: "elsewhere")
      try putBack("old")
      try await engine.put("other", "2")
      let error = try await storageError { try await engine.flush() }
      #expect(error.code == .rolledBack && error.message.contains("an older copy of itself"), "\(error)")
      // Nor does a store without its record look like one that was never anchored.
      try directory.execute("store/store.db", "DELETE FROM coffer_records WHERE key = CAST('encryption.fresh' AS BLOB)")
      try FileManager.default.removeItem(atPath: anchorPath)
      #expect(try await storageError { try await engine.flush() }.code == .notFound)
      #expect(!FileManager.default.fileExists(atPath: anchorPath))
      try await engine.base.close()
    }

    @Test("An anchor that is removed under an open store is not written again")
    func removedAnchor() async throws {
      let engine = try await openAheadOfCopy()
      try FileManager.default.removeItem(atPath: anchorPath)
      let record = try await engine.base.record(.rollback)
      for number in 0..<2 {
        try await engine.put("key", "new \(number)")
        let error = try await storageError { try await engine.flush() }
        #expect(error.code == .notFound && error.advice.contains("make it available"), "\(error)")
      }
      #expect(try await engine.base.record(.rollback) == record)
      #expect(!FileManager.default.fileExists(atPath: anchorPath))
      #expect(try await storageError { try await engine.close() }.code == .notFound)
      #expect(try await storageError { _ = try await open() }.code == .notFound)
      try await open(accepts: true).close()
      try await open().close()
    }

    @Test("A directory of the anchor that is missing, as on a disk that is not mounted, is not created again")
    func unmounted() async throws {
      let engine = try await openAheadOfCopy()
      try FileManager.default.moveItem(atPath: directory.path("elsewhere"), toPath: directory.path("unmounted"))
      try await engine.put("key", "new")
      #expect(try await storageError { try await engine.flush() }.code == .notFound)
      let error = try await storageError { _ = try await open(accepts: true) }
      #expect(error.code == .unavailable && error.advice.contains("Mount its disk"), "\(error)")
      #expect(!FileManager.default.fileExists(atPath: directory.path("elsewhere")))
      // Mounted again: the store is as new as it was.
      try FileManager.default.moveItem(atPath: directory.path("unmounted"), toPath: directory.path("elsewhere"))
      try await engine.flush()
      try await engine.close()
      try await open().close()
    }

    @Test("A planted record of another key ring does not end the updates of the anchor")
    func plantedRing() async throws {
      let foreign = try await base("other").encrypted()
      for _ in 0..<4 { _ = try await foreign.rotate().result() }
      try await foreign.close()
      let engine = try await openAheadOfCopy()
      let ring = try #require(try await engine.base.record(.keyRing)).content
      let generation = try #require(try await KeyRingStore.inspect(engine.base)).generation
      try directory.putBack([SystemRecord.Name.keyRingCopy], from: "other")
      let planted = try #require(try await KeyRingStore.inspect(engine.base))
      #expect(planted.generation > generation)
      let before = try await anchored()
      try await engine.put("key", "new")
      try await engine.flush()
      #expect(try await anchored().sequence > before.sequence)
      // Both records: nothing can be anchored, which is said, and not for ever.
      try await engine.put("key", "newer")
      try directory.putBack(SystemRecord.Name.keyRings, from: "other")
      #expect(try await storageError { try await engine.flush() }.code == .notFound)
      let restored: [WriteBatch.Operation] = [
        .putRecord(.keyRing, ring), .putRecord(.keyRingCopy, ring),
      ]
      try await engine.base.commit(WriteBatch(restored), from: StoreOrigin())
      let between = try await anchored()
      try await engine.flush()
      #expect(try await anchored().sequence > between.sequence)
      try await engine.close()
      try directory.copy("old", to: "store")
      #expect(try await storageError { _ = try await open() }.code == .rolledBack)
    }

    @Test("An older key ring is refused before all values of a store of single keys are encrypted")
    func olderRingOfDeclared() async throws {
      let file = directory.url.appendingPathComponent("key")
      try Data("the key material of the tests, 32".utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      var configuration = EncryptedEngine.Configuration.anchored(anchor)
      configuration.isEncrypted = { $0 == "secret" }
      let first = try await EncryptedEngine.open(base(), key: .file(file), configuration: configuration)
      try await first.put("secret", "one")
      try await first.close()
      try directory.copy("store", to: "old")
      let second = try await EncryptedEngine.open(base(), key: .file(file), configuration: configuration)
      // One change of the ring, so that one more on the older ring would give it the same generation.
      let store = try KeyRingStore(second.base)
      let ring = try await store.open(with: .file(file), settings: EncryptionSettings(), ifMissing: .refuse)
      _ = try await store.update(ring) { try $0.addPrimary(now: Date()) }
      try await second.put("secret", "two")
      try await second.close()
      let rings = SystemRecord.Name.keyRings
      try directory.putBack(rings, from: "old")
      let plain = try await base()
      let older = try #require(try await plain.record(.keyRing)).content
      let error = try await storageError {
        _ = try await EncryptedEngine.encrypt(plain, key: .file(file), configuration: .anchored(anchor))
      }
      #expect(error.code == .rolledBack && error.message.contains("an older copy of itself"), "\(error)")
      for name in rings { #expect(try await plain.record(name)?.content == older) }
      try await plain.close()
    }
  }
#endif
