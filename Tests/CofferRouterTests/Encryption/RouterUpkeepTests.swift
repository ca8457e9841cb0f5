import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

@testable import Coffer
@testable import CofferRouter

/// Erasing, rollback protection and automatic rotation by the settings of a router.
@Suite(.timeLimit(.minutes(15))) struct RouterUpkeepTests {
  private static let database = StorageDomain.database()

  private let fixture: RouterFixture
  private let settings: StorageConfiguration
  private let secret = plain("secret", String.self, in: database, security: .encrypted(.aes256))
  private let name = plain("name", String.self, in: database)

  init() throws {
    fixture = try RouterFixture()
    settings = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
  }

  /// Returns the engine of the database without encryption.
  private func stored(_ router: StorageRouter) async throws -> any StorageEngine {
    var engine = try await router.openStores.store(of: Self.database).engine
    while let decorator = engine as? any EngineDecorator { engine = decorator.base }
    return engine
  }

  /// Returns the id of the data key of a stored envelope.
  private func keyID(_ key: KeyName, _ router: StorageRouter) async throws -> Data? {
    try await stored(router).entry(key).map { Data($0.value[32..<64]) }
  }

  // Requirement 1.48
  @Test("Erasing a domain destroys its encrypted values, also in the cache, and leaves the plain ones")
  func shred() async throws {
    try await fixture.use(settings) { router in
      let note = plain("note", String.self, in: .encryptedFileSystem(.documents))
      try await router.set("s", for: secret)
      try await router.set("plain", for: name)
      try await router.set("n", for: note)
      let plan = try await router.shred(domain: Self.database, dryRun: true)
      #expect(plan.isDryRun && plan.values == 1)
      #expect(try await router.get(secret) == "s")
      let report = try await router.shred(domain: Self.database)
      #expect(report.values == 1 && !report.isDryRun && report.destroyedKeys == plan.destroyedKeys)
      #expect(router.cached(secret) == nil)
      #expect(try await !router.exists(secret))
      #expect(try await [router.get(name), router.get(note)] == ["plain", "n"])
      try await router.set("new", for: secret)
      #expect(try await router.get(secret) == "new")
      #expect(try await router.shred(domain: .encryptedFileSystem(.documents)).values == 1)
      #expect(try await !router.exists(note))
      await expectError(.unsupported) { try await router.shred(domain: .fileSystem(.documents)) }
    }
  }

  @Test("What keeps an erasure from its end is told, and it is finished later without erasing anything else")
  func continueShredding() async throws {
    var impatient = settings
    impatient.stores.database.busyTimeout = 50
    try await fixture.use(impatient) { router in
      try await router.set("s", for: secret)
      let base = try await stored(router)
      let report = try await base.withSnapshot { snapshot in
        // The snapshot begins with its first read.
        _ = try await snapshot.entries(["secret"])
        return try await router.shred(domain: Self.database)
      }
      #expect(!report.isComplete && report.destroyedKeys.count == 1)
      try await router.set("new", for: secret)
      let rest = try await router.continueShredding(domain: Self.database)
      #expect(rest.isComplete && rest.destroyedKeys == report.destroyedKeys)
      #expect(try await router.get(secret) == "new")
      #expect(try await router.continueShredding(domain: Self.database).destroyedKeys.isEmpty)
      await expectError(.unsupported) { try await router.continueShredding(domain: .fileSystem(.documents)) }
    }
  }

  @Test("Scrubbing frees the files of removed values")
  func scrub() async throws {
    let path = fixture.path("data/com.example.shop/coffer.db")
    func holds(_ text: String) throws -> Bool {
      try [path, path + "-wal"].contains { file in
        guard FileManager.default.fileExists(atPath: file) else { return false }
        return try Data(contentsOf: URL(fileURLWithPath: file)).range(of: Data(text.utf8)) != nil
      }
    }
    try await fixture.use(settings) { router in
      try await router.set("s", for: secret)
      try await router.set("what-was-removed", for: name)
      try await router.remove(name)
      #expect(try holds("what-was-removed"))
      try await router.scrub(domain: Self.database)
      #expect(try !holds("what-was-removed"))
      #expect(try await router.get(secret) == "s")
      await expectError(.unsupported) { try await router.scrub(domain: .fileSystem(.documents)) }
    }
  }

  @Test("An older copy of the store is noticed by the anchor of the settings; plain keys can be read")
  func rollback() async throws {
    let anchor = URL(fileURLWithPath: fixture.path("anchor"))
    var guarded = settings
    guarded.encryption.rollbackProtection = { store in
      store.hasPrefix("sqlite:") ? RollbackProtection(anchor: FileAnchor(anchor)) : nil
    }
    let path = fixture.path("data/com.example.shop/coffer.db")
    try await fixture.use(guarded) { router in
      try await router.set("old", for: secret)
      try await router.set("plain", for: name)
    }
    #expect(FileManager.default.fileExists(atPath: anchor.path))
    let old = try Data(contentsOf: URL(fileURLWithPath: path))
    try await fixture.use(guarded) { try await $0.set("new", for: secret) }
    for file in ["-wal", "-shm", "-wake", "-lock"] { try? FileManager.default.removeItem(atPath: path + file) }
    try old.write(to: URL(fileURLWithPath: path))
    try await fixture.use(guarded) { router in
      await expectError(.rolledBack) { _ = try await router.get(secret) }
      let plain = try await router.get(name)
      #expect(plain == "plain")
    }
  }

  // Requirement 4.49
  @Test("A key that is older than the settings allow is replaced in the background")
  func automatic() async throws {
    let now = Date()
    var earlier = settings
    earlier.stores.database.clock = StoreClock { now - 100 * 86_400 }
    let first = try await fixture.use(earlier) { router in
      try await router.set("s", for: secret)
      return try await keyID("secret", router)
    }
    var automatic = settings
    automatic.encryption.automaticRotation = KeyRotation.Policy(maximumAge: .seconds(90 * 86_400))
    try await fixture.use(automatic) { router in
      #expect(try await router.get(secret) == "s")
      try await eventually("the key is replaced") { try await keyID("secret", router) != first }
      #expect(try await router.get(secret) == "s")
    }
  }
}
