import CofferCore
import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Migrations together with clearing, sync, properties, quarantines, older versions and read-only routers.
@Suite(.serialized, .timeLimit(.minutes(15))) struct MigrationUseTests {
  private struct Catalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
  }

  private let old = plain("old", String.self, in: .memory("old"))
  private let key = moved()

  private func router(_ key: TypedKey<String>) async throws -> StorageRouter {
    let router = StorageRouter.inMemory()
    try await router.set("a", for: old)
    try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
    return router
  }

  @Test("An older value does not come back after a clear, of which a dry run names its key")
  func clearing() async throws {
    let router = try await router(key)
    let plan = try await router.clear(owner: "Tests", dryRun: true)
    #expect(plan.removed == ["new"] && plan.isComplete)
    let report = try await router.clear(owner: "Tests")
    #expect(report.removed == ["new"] && report.isComplete)
    #expect(try await !router.exists(key))
    #expect(try await router.clear(owner: "Tests").removed == [])

    struct Refusal: Error {}
    let failing = plain("failing", String.self, in: .memory("new")).migrating { [old] key in
      AnyStorageMigration(from: old, to: key) { (_: String) throws -> String in
        throw Refusal()
      }
    }
    let failed = try await self.router(failing).clear(owner: "Tests")
    #expect(failed.removed == [] && failed.failures.map(\.code) == [.migrationFailed])
  }

  @Test("A key with an older value is not sent as absent")
  func sync() async throws {
    let synced = plain("new", String.self, in: .memory("new"), sync: .manual).migrating { [old] key in
      AnyStorageMigration(from: old, to: key)
    }
    let snapshot = try await router(synced).syncSnapshot()
    #expect(snapshot.texts == ["new": #""a""#])
  }

  @Test("Settings and observed values have the older value") @MainActor
  func properties() async throws {
    let setting = SettingKey<String>("set", in: .memory("new"), owner: "Tests", about: "For a test.", default: "none")
      .migrating { [old] key in
        AnyStorageMigration(from: old, to: key)
      }
    var router = StorageRouter.inMemory()
    try await router.set("a", for: old)
    #expect(try await router.settings(setting)[setting] == "a")

    router = StorageRouter.inMemory()
    try await router.set("a", for: old)
    let value = StoredValue(setting, in: router, initially: "first")
    #expect(try await value.load() == "a")
  }

  @Test("What an older version of the application stores later is kept, and moved on request")
  func downgrade() async throws {
    let stores = ["old": MemoryEngine(), "new": MemoryEngine()]
    let earlier = plain("old", String.self, in: .engine("old"))
    let later = moved(in: .engine("new"), from: earlier)
    func use() -> StorageRouter { StorageRouter.inMemory { $0.engines = stores } }
    try await use().set("a", for: earlier)
    #expect(try await use().get(later) == "a")
    await expectError(.notFound) { _ = try await use().get(earlier) }
    try await use().set("b", for: earlier)
    #expect(try await use().get(later) == "a")
    #expect(try await use().get(earlier) == "b")
    try await use().remove(later)
    #expect(try await !use().exists(later))
    #expect(try await use().forceMigration(for: later).migratedCount == 1)
    #expect(try await use().get(later) == "b")
  }

  @Test("The quarantine keeps no plain copy of a value that is protected now")
  func quarantine() async throws {
    let fixture = try RouterFixture()
    let engine = try await SQLiteEngine.open(at: fixture.path("old.db"))
    let (token, other) = (Data(#""plain token""#.utf8), Data("other".utf8))
    for (name, value) in [("old" as KeyName, token), ("other", other)] {
      try await engine.commit(WriteBatch([.put(name, value)]), from: StoreOrigin())
      _ = try await engine.quarantine(try #require(try await engine.entry(name)))
    }
    let settings = configured {
      $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test")
      $0.engines = ["old": engine]
    }
    let old = plain("old", String.self, in: .engine("old"))
    let secret = plain("new", String.self, in: .database(), security: .encrypted(.aes256)).migrating { key in
      AnyStorageMigration(from: old, to: key)
    }
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      #expect(try await router.get(secret) == "plain token")
    }
    #expect(try await engine.quarantinedValues().map(\.key) == ["other"])
    try await engine.close()
    let files = try FileManager.default.contentsOfDirectory(atPath: fixture.path("")).filter { $0.hasPrefix("old.db") }
    for file in files {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.path(file)))
      #expect(bytes.range(of: Data("plain token".utf8)) == nil, "\(file)")
    }
  }

  @Test("A read-only router reads a key without an older value, and refuses to move one")
  func readOnly() async throws {
    let fixture = try RouterFixture()
    let database = StorageDomain.database()
    let old = plain("old", String.self, in: database)
    let (key, none) = (moved(in: database, from: old), moved("none", in: database))
    try await fixture.use { try await $0.set("a", for: old) }
    try await fixture.use(configured { $0.access = .readOnly }) { (router: StorageRouter) async throws -> Void in
      await expectError(.readOnly) { _ = try await router.get(key) }
      #expect(try await router.get(old) == "a")
      #expect(try await !router.exists(none))
    }
    try await fixture.use { (router: StorageRouter) async throws -> Void in
      #expect(try await router.get(key) == "a")
    }
  }
}

/// Migrations into and out of a real keyring on a private bus, which is locked half-way.
@Suite(
  .blocking, .serialized, .timeLimit(.minutes(15)),
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct MigrationKeyringTests {
  @Test("A keyring that is locked before or during a migration keeps the older value; unlocked, it is completed")
  func locked() async throws {
    let keyring = try PrivateKeyring()
    var configuration = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
    configuration.stores.keychain.address = keyring.address
    let variables = Dictionary(uniqueKeysWithValues: keyring.environment)
    let system = SystemDirectories(bundleIdentifier: "com.example.shop", processName: "shop") { variables[$0] }
    let old = plain("old", String.self, in: .database())
    let token = TypedKey<String>(secret: "token", in: .keychain(), owner: "Tests", about: "For a test.")
      .migrating { AnyStorageMigration(from: old, to: $0) }
    let isFirst = Locked(true)
    let ((begun, begin), (locked, lock)) = (
      AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self)
    )
    let copied = plain("moved", String.self, in: .database(), security: .encrypted(.aes256)).migrating { key in
      AnyStorageMigration(from: token, to: key) { (text: String) in
        if isFirst.withLock({ $0 }) {
          begin.yield()
          for await _ in locked { break }
        }
        return text
      }
    }
    try await SystemDirectories.$current.withValue(system) { [configuration] in
      let router = StorageRouter(configuration: configuration)
      try await router.set("plain token", for: old)
      try keyring.lock()
      await expectError(.unavailable, "locked") { _ = try await router.get(token) }
      #expect(try await router.get(old) == "plain token")
      try keyring.unlock("correct horse")
      #expect(try await router.get(token) == "plain token")
      #expect(try await !router.exists(old))

      let later = StorageRouter(configuration: configuration)
      async let refused: Void = expectError(.unavailable, "locked") { _ = try await later.get(copied) }
      for await _ in begun { break }
      isFirst.withLock { $0 = false }
      try keyring.lock()
      lock.yield()
      await refused
      try keyring.unlock("correct horse")
      #expect(try await later.get(token) == "plain token", "it is removed last")
      #expect(try await later.get(copied) == "plain token")
      #expect(try await !later.exists(token))
      try await later.close()
      try await router.close()
    }
  }
}
