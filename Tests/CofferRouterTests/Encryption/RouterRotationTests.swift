import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

@testable import Coffer
@testable import CofferRouter

/// Rotations of the keys of a router's stores.
@Suite(.timeLimit(.minutes(15))) struct RouterRotationTests {
  private static let database = StorageDomain.database()
  private static let files = StorageDomain.encryptedFileSystem(.documents)

  private let fixture: RouterFixture
  private let settings: StorageConfiguration

  private let secret = plain("secret", String.self, in: database, security: .encrypted(.aes256))
  private let other = plain("other", String.self, in: database, security: .encrypted(.chaCha20Poly1305))
  private let name = plain("name", String.self, in: database)
  private let note = plain("note", String.self, in: files)
  private let drafts = KeyFamily<Int, String>(
    "drafts/", in: database, owner: "Notes", about: "Drafts.", security: .encrypted(.aes256))

  init() throws {
    fixture = try RouterFixture()
    settings = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
  }

  private func fill(_ router: StorageRouter) async throws {
    try await router.set("s", for: secret)
    try await router.set("o", for: other)
    try await router.set("plain", for: name)
    try await router.set("n", for: note)
    try await router.batch { batch in for id in 0..<40 { batch.set("draft \(id)", for: drafts[id]) } }
  }

  /// The ids of the data keys of the stored envelopes, by their keys.
  private func keyIDs(_ domain: StorageDomain, _ router: StorageRouter) async throws -> [KeyName: Data] {
    var engine = try await router.openStores.store(of: domain).engine
    while let decorator = engine as? any EngineDecorator { engine = decorator.base }
    var ids: [KeyName: Data] = [:]
    for entry in try await engine.withSnapshot({ try await $0.page(prefix: nil, after: nil, limit: 1_000) }) {
      if entry.value.prefix(5) == Data([0xFF] + "CENV".utf8) { ids[entry.key] = Data(entry.value[32..<64]) }
    }
    return ids
  }

  private func check(_ router: StorageRouter) async throws {
    let values = try await [router.get(secret), router.get(other), router.get(name), router.get(note)]
    #expect(values == ["s", "o", "plain", "n"])
    for id in 0..<40 {
      let draft = try await router.get(drafts[id])
      #expect(draft == "draft \(id)")
    }
  }

  // Requirement 4.49
  @Test("Every store gets a new key, under which every encrypted value is, and plain values stay as they are")
  func everything() async throws {
    try await fixture.use(settings) { router in
      try await fill(router)
      let before = try await (keyIDs(Self.database, router), keyIDs(Self.files, router))
      #expect((before.0.count, before.1.count) == (42, 1))
      let plain = try await router.versioned(name).revision
      let rotation = router.rotateKeys()
      let report = try await rotation.result()
      #expect(report.stores.map { $0.store.prefix(7) } == ["encrypt", "sqlite:"], "\(report.stores)")
      #expect(report.isComplete && report.failures.isEmpty)
      let changed = try report.stores.map { try $0.outcome.get() }
      #expect(changed.map(\.changedValues) == [1, 42] && changed.allSatisfy { $0.removedKeys.count == 1 })
      #expect(rotation.progress.totalUnitCount > 0 && rotation.progress.fractionCompleted == 1)
      let after = try await (keyIDs(Self.database, router), keyIDs(Self.files, router))
      #expect(Set(after.0.values).count == 1 && Set(after.0.values).isDisjoint(with: before.0.values))
      #expect(Set(after.1.values).isDisjoint(with: before.1.values))
      #expect(try await router.versioned(name).revision == plain)
      try await check(router)
    }
    try await fixture.use(settings, check)
  }

  // Requirement 4.49
  @Test("One domain is rotated by itself; a store without encryption is not supported")
  func domain() async throws {
    try await fixture.use(settings) { router in
      try await fill(router)
      let before = try await (keyIDs(Self.database, router), keyIDs(Self.files, router))
      let report = try await router.rotateKeys(in: Self.database).result()
      #expect(report.isComplete && report.removedKeys.count == 1)
      let now = try await keyIDs(Self.database, router)
      #expect(Set(now.values).count == 1 && Set(now.values).isDisjoint(with: before.0.values))
      #expect(try await keyIDs(Self.files, router) == before.1)
      try await check(router)
      await expectError(.unsupported, "encrypted") { _ = try await router.rotateKeys(in: .fileSystem(.documents)) }
      #expect(!FileManager.default.fileExists(atPath: fixture.path("documents/com.example.shop")))
    }
  }

  @Test("A store whose key is not available does not keep the others from being rotated")
  func oneFails() async throws {
    let hsm = plain(
      "hsm", String.self, in: .fileSystem(.documents),
      security: .encrypted(SecurityPolicy.Encryption(.aes256, keyMaterial: "hsm")))
    let provided = configured {
      $0.encryption = settings.encryption
      $0.encryption.providers["hsm"] = FixedKeyMaterial(first: 9)
    }
    try await fixture.use(provided) { router in
      try await router.set("h", for: hsm)
      try await fill(router)
    }
    let locked = configured {
      $0.encryption = settings.encryption
      $0.encryption.providers["hsm"] = LockedKeyMaterial()
    }
    struct Catalog: StorageKeyCatalog {
      let name = "All"
      let allKeys: [AnyStorageKey]
    }
    try await fixture.use(locked) { router in
      let keys: [AnyStorageKey] = [.key(secret), .key(other), .family(drafts), .key(hsm), .key(note)]
      try await router.registerCatalog(Catalog(allKeys: keys))
      let report = try await router.rotateKeys().result()
      #expect(report.stores.count == 3 && !report.isComplete)
      #expect(report.failures.map(\.code) == [.unavailable])
    }
    try await fixture.use(provided) { router in
      let value = try await router.get(hsm)
      #expect(value == "h")
      try await check(router)
    }
  }

  // Requirement 4.49
  @Test("Values that are written during a rotation are kept, through every call")
  func duringWrites() async throws {
    try await fixture.use(settings) { router in
      try await fill(router)
      let counter = SettingKey<Int>(
        "counter", in: Self.database, owner: "App", about: "A number.", default: 0, security: .encrypted(.aes256))
      let writing = Task {
        for _ in 0..<200 { try await router.update(counter) { $0 += 1 } }
      }
      for _ in 0..<3 {
        let report = try await router.rotateKeys(in: Self.database).result()
        #expect(report.isComplete)
      }
      try await writing.value
      #expect(try await router.get(counter) == 200)
      try await check(router)
    }
  }

  @Test("A cancelled rotation leaves every value readable, and the next one finishes it")
  func cancelled() async throws {
    try await fixture.use(settings) { router in
      try await fill(router)
      let rotation = router.rotateKeys()
      rotation.progress.cancel()
      let first = try await rotation.result()
      #expect(first.stores.count == 2)
      try await check(router)
      let second = try await router.rotateKeys().result()
      #expect(second.isComplete)
      let ids = try await keyIDs(Self.database, router)
      #expect(Set(ids.values).count == 1)
    }
  }
}
