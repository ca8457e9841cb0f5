import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import Coffer
@testable import CofferRouter

/// The one decorator by which single keys of a plain store are encrypted: from the beginning, and lazily.
@Suite(.timeLimit(.minutes(15))) struct SelectiveEncryptionTests {
  private static let database = StorageDomain.database()
  private static let files = StorageDomain.fileSystem(.documents)

  private let fixture: RouterFixture
  private let settings: StorageConfiguration

  init() throws {
    fixture = try RouterFixture()
    settings = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
  }

  private func secret(_ domain: StorageDomain) -> TypedKey<String> {
    plain("secret", String.self, in: domain, security: .encrypted(.aes256))
  }
  private func name(_ domain: StorageDomain) -> TypedKey<String> { plain("name", String.self, in: domain) }

  private struct Late: StorageKeyCatalog {
    let name = "Late"
    let allKeys: [AnyStorageKey]
  }

  @Test("Keys that are declared after their store was opened are encrypted, also inside a transaction")
  func declaredLater() async throws {
    let (secret, name) = (secret(Self.database), name(Self.database))
    try await fixture.use(settings) { router in
      try await router.registerCatalog(Late(allKeys: [.key(name)]))
      try await router.set("a", for: name)
      let changes = try await router.changes(of: name)
      let raw = try await router.engine(of: Self.database)
      #expect(try await raw.record(SystemRecord.Name("encryption" as KeyName)) == nil, "no ring before it is needed")
      struct Second: StorageKeyCatalog {
        let name = "Second"
        let allKeys: [AnyStorageKey]
      }
      try await router.registerCatalog(Second(allKeys: [.key(secret)]))
      let drafts = KeyFamily<String, String>(
        "drafts/", in: Self.database, owner: "Notes", about: "Drafts.", security: .encrypted(.chaCha20Poly1305))
      struct Third: StorageKeyCatalog {
        let name = "Third"
        let allKeys: [AnyStorageKey]
      }
      try await router.transaction(in: Self.database) { transaction in
        #expect(try await transaction.get(name) == "a")
        try await transaction.set("s", for: secret)  // opens the ring while the snapshot is open
        #expect(try await transaction.get(secret) == "s")
        try await transaction.set("b", for: name)
      }
      try await router.registerCatalog(Third(allKeys: [.family(drafts)]))
      try await router.set("d", for: drafts["1"])
      #expect(try await [router.get(name), router.get(secret), router.get(drafts["1"])] == ["b", "s", "d"])
      var iterator = changes.makeAsyncIterator()
      guard case .changed(_, _, true)? = await iterator.next() else {
        return #expect(Bool(false), "one origin for plain and encrypted keys")
      }
      #expect(try await raw.entry("name")?.value.range(of: Data("b".utf8)) != nil)
      #expect(try await raw.entry("secret")?.value.prefix(5) == Data([0xFF] + "CENV".utf8))
    }
  }

  @Test("In a store without a ring that is open for reading only, encrypted keys are absent until they exist")
  func readOnly() async throws {
    let inspecting = configured {
      $0.encryption = settings.encryption
      $0.access = .readOnly
    }
    for domain in [Self.database, Self.files] {
      let (secret, name) = (secret(domain), name(domain))
      let theme = SettingKey<String>(
        "theme", in: domain, owner: "App", about: "The theme.", default: "light", security: .encrypted(.aes256))
      for exists in [false, true] {
        if exists { try await fixture.use(settings) { try await $0.set("a", for: name) } }
        try await fixture.use(inspecting) { router in
          #expect(try await router.get(theme) == "light")
          #expect(try await !router.exists(secret))
          await expectError(.notFound) { _ = try await router.get(secret) }
          await expectError(.readOnly) { try await router.set("x", for: secret) }
          guard exists else { return }
          try await fixture.use(settings) { try await $0.set("s", for: secret) }
          #expect(try await router.get(secret) == "s")
          #expect(try await router.get(name) == "a")
        }
      }
    }
  }

  @Test("A store that appears behind a link has the label of the link's target for a router that was open before")
  func linkedLater() async throws {
    let inspecting = configured {
      $0.encryption = settings.encryption
      $0.access = .readOnly
    }
    let target = URL(fileURLWithPath: fixture.path("target.db"))
    let link = URL(fileURLWithPath: fixture.path("link.db"))
    let (linked, stored) = (secret(.database(link)), secret(.database(target)))
    try await fixture.use(inspecting) { router in
      await expectError(.notFound) { _ = try await router.get(linked) }
      try await fixture.use(settings) { try await $0.set("s", for: stored) }
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
      #expect(try await router.get(linked) == "s")
    }
  }

  @Test("Files whose journal and key ring were deleted are an error, not absent, plain or replaced by a default")
  func lostRing() async throws {
    let encrypted = StorageDomain.encryptedFileSystem(.custom(URL(fileURLWithPath: fixture.path("all"))))
    for domain in [Self.files, encrypted] {
      let (secret, name) = (secret(domain), name(domain))
      let theme = SettingKey<String>(
        "theme", in: domain, owner: "App", about: "The theme.", default: "light", security: .encrypted(.aes256))
      let store = try await fixture.use(settings) { router in
        try await router.set("s", for: secret)
        try await router.set("dark", for: theme)
        try await router.set("a", for: name)
        return try DomainLocation(domain, router.configuration)
      }
      guard case .store(let location) = store else { continue }
      let path = location.description.replacing("encrypted:", with: "").replacing("file:", with: "")
      try FileManager.default.removeItem(atPath: path + "/.coffer")
      let before = try Data(contentsOf: URL(fileURLWithPath: path + "/theme"))
      for access in [StoreAccess.readWrite, .readOnly] {
        let opening = configured {
          $0.encryption = settings.encryption
          $0.access = access
        }
        try await fixture.use(opening) { router in
          await expectError(.keyUnavailable, "key ring") { _ = try await router.get(secret) }
          await expectError(.keyUnavailable, "key ring") { _ = try await router.get(theme) }
          await expectError(access == .readOnly && domain == Self.files ? .readOnly : .keyUnavailable) {
            try await router.set("new", for: theme)
          }
          await expectError(.keyUnavailable) { try await router.update(theme) { $0 += "x" } }
          guard domain == Self.files else { return }
          let plain = try await router.get(name)
          #expect(plain == "a")
        }
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/theme")) == before)
    }
  }

  @Test("A key's own algorithm decides for its values, and that of the settings for keys that declare none")
  func algorithms() async throws {
    let domain = StorageDomain.encryptedFileSystem(.documents)
    let own = plain("own", String.self, in: domain, security: .encrypted(.aes256))
    let any = plain("any", String.self, in: domain)
    let chaCha = configured {
      $0.encryption = settings.encryption
      $0.encryption.settings.algorithm = .chaCha20Poly1305
    }
    try await fixture.use(chaCha) { router in
      try await router.set("a", for: own)
      try await router.set("b", for: any)
      let raw = try await router.engine(of: domain)
      #expect(try await raw.entry("own")?.value[6] == 1)
      #expect(try await raw.entry("any")?.value[6] == 2)
    }
  }

  @Test("A store whose values are all encrypted is never read or written in plain by plain keys")
  func allEncrypted() async throws {
    let location = StoreLocation.sqlite(path: fixture.path("all.db"))
    let hidden = configured {
      $0.encryption = settings.encryption
      $0.encryption.settings.hidesNames = true
    }
    let key = plain("k", String.self, in: .store(.encrypted(location)))
    try await fixture.use(hidden) { try await $0.set("v", for: key) }
    let same = plain("k", String.self, in: .store(location))
    try await fixture.use(hidden) { router in
      #expect(try await router.get(same) == "v")
      try await router.set("w", for: same)
    }
    let read = try await fixture.use(hidden) { try await $0.get(key) }
    #expect(read == "w")
    let locked = configured { $0.encryption.key = .provider(LockedKeyMaterial(), named: "test") }
    try await fixture.use(locked) { router in
      await expectError(.unavailable, "locked") { _ = try await router.get(same) }
    }
    // Its keys are declared in plain, and yet they are replaced.
    try await fixture.use(hidden) { router in
      #expect(try await router.get(same) == "w")
      let report = try await router.rotateKeys().result()
      let counts = try report.stores.map { try $0.outcome.get().changedValues }
      #expect(counts == [1])
      #expect(try await router.get(same) == "w")
    }
  }

  @Test("An engine that the program encrypts itself is used as it is")
  func givenEngine() async throws {
    let base = try await SQLiteEngine.open(at: fixture.path("own.db"))
    let source = RootKeySource.provider(FixedKeyMaterial(first: 1), named: "own")
    let engine = try await EncryptedEngine.open(base, key: source)
    let own = configured { $0.engines["own"] = engine }
    let name = plain("k", String.self, in: .engine("own"))
    let secret = plain("s", String.self, in: .engine("own"), security: .encrypted(.aes256))
    try await fixture.use(own) { router in
      try await router.set("v", for: name)
      try await router.set("w", for: secret)
      let values = try await [router.get(name), router.get(secret)]
      #expect(values == ["v", "w"])
      let report = try await router.rotateKeys().result()
      let counts = try report.stores.map { try $0.outcome.get().changedValues }
      #expect(counts == [2])
    }
    for entry in try await base.withSnapshot({ try await $0.page(prefix: nil, after: nil, limit: 10) }) {
      #expect(entry.value.starts(with: Data([0xFF] + "CENV".utf8)))
    }
    try await engine.close()
  }
}

extension StorageRouter {
  /// The engine of a domain's store without any encryption.
  fileprivate func engine(of domain: StorageDomain) async throws -> any StorageEngine {
    var engine = try await openStores.store(of: domain).engine
    while let decorator = engine as? any EngineDecorator { engine = decorator.base }
    return engine
  }

  fileprivate func openedSQLite(_ domain: StorageDomain) async throws -> SQLiteEngine {
    try await openStores.store(of: domain).engine.opened(as: SQLiteEngine.self)
  }
}
