import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Declared secrets on a machine without a keyring.
@Suite(.serialized, .timeLimit(.minutes(15))) struct SecretDomainTests {
  private let fixture: RouterFixture
  /// A service: no HOME, no XDG directories and no session bus.
  private let bare = SystemDirectories(bundleIdentifier: nil, processName: "shop") { _ in nil }

  init() throws { fixture = try RouterFixture() }

  private var file: URL { URL(fileURLWithPath: fixture.path("secrets.sealed")) }

  private func secret(_ name: String, _ domain: SecretDomain) -> TypedKey<String> {
    TypedKey(secret: name, in: domain, owner: "Account", about: "The session at the shop.")
  }

  private struct Catalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
  }

  private var passphrase: PassphraseSource { .provided { Data("correct horse".utf8) } }

  // Requirement 4.16
  @Test("A domain brings the passphrase of its sealed file, also when it is created again at each use")
  func sealed() async throws {
    var key: TypedKey<String> { secret("token", .sealed(at: file, passphrase: passphrase)) }
    for isNew in [true, false] {
      try await fixture.use { router in
        try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
        if isNew { try await router.set("s3cret", for: key) }
        #expect(try await router.get(key) == "s3cret")
        let entry = try #require(await router.manifest().entries.first)
        #expect(entry.store == "sealed:\(file.path)" && entry.isSensitive)
      }
    }
  }

  // Requirement 1.45
  @Test("Without HOME and a bus a chain keeps the secret in its sealed file, and the audit opens it")
  func chain() async throws {
    let key = secret("token", .chain(service: "com.example.none", sealedAt: file, passphrase: passphrase))
    try await SystemDirectories.$current.withValue(bare) {
      let router = StorageRouter(configuration: configured { _ in })
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      let before = try #require(await router.auditReport().entries.first)
      guard case .unavailable = before.state else { throw TestFailure("\(before.state)") }
      #expect(!FileManager.default.fileExists(atPath: file.path), "an audit creates nothing")
      try await router.set("s3cret", for: key)
      #expect(try await router.get(key) == "s3cret")
      let entry = try #require(await router.auditReport().entries.first)
      guard case .present = entry.state else { throw TestFailure("\(entry.state)") }
      let address = try #require(entry.key.store)
      #expect(try StoreLocation(address).description == "keychain:com.example.none+sealed:\(file.path)")
      #expect(entry.store == "sealed:\(file.path)")
      try await router.close()
    }
  }

  // Requirement 1.45
  @Test("Clearing a chain that was never used creates no sealed file, and neither does asking whether it is available")
  func unusedChain() async throws {
    let key = secret("token", .chain(service: "com.example.none", sealedAt: file, passphrase: passphrase))
    try await SystemDirectories.$current.withValue(bare) {
      let router = StorageRouter(configuration: configured { _ in })
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      #expect(try await router.currentAvailability(of: key) == .available)
      for isDryRun in [true, false] {
        let report = try await router.clear(all: .valuesAndSecrets, dryRun: isDryRun)
        #expect(report.isComplete && report.removed.isEmpty, "\(report)")
      }
      #expect(!FileManager.default.fileExists(atPath: file.path))
      try await router.set("s3cret", for: key)
      #expect(try await router.clear(all: .valuesAndSecrets).removed == ["token"])
      try await router.close()
    }
  }

  @Test("Two sources for one sealed file are an error that names both")
  func twoSources() async throws {
    let first = secret("first", .sealed(at: file, passphrase: .systemdCredential("shop-secrets")))
    let words = URL(fileURLWithPath: "/run/words")
    let second = secret("second", .chain(sealedAt: file, passphrase: .file(words)))
    let third = secret("third", .sealed(at: file))
    try await fixture.use { router in
      await expectError(.invalidDeclaration, "shop-secrets") {
        try await router.registerCatalog(Catalog(allKeys: [.key(first), .key(second)]))
      }
      #expect(router.allRegisteredEntries.isEmpty)
      await expectError(.invalidDeclaration, "'/run/words' for this key") {
        try await router.registerCatalog(Catalog(allKeys: [.key(first), .key(second)]))
      }
      try await router.registerCatalog(Catalog(allKeys: [.key(first)]))
    }
    try await fixture.use { router in
      await expectError(.unavailable, "credential") { _ = try await router.get(first) }
      await expectError(.invalidDeclaration, "StoreOptions.passphrase") { _ = try await router.get(third) }
    }
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  // Requirement 1.64
  @Test("A secret is accepted in an engine that declares secrecy, also behind decorators, and in no other")
  func engines() async throws {
    let sealed = try await SlotEngine.sealed(at: file, passphrase: passphrase)
    let configuration = configured {
      $0.engines["sealed"] = FaultInjectingEngine(FaultInjectingEngine(sealed))
      $0.engines["plain"] = MemoryEngine()
    }
    let token = secret("token", .engine("sealed"))
    try await fixture.use(configuration) { router in
      await expectError(.insecureKey, "plain") {
        try await router.set("s3cret", for: secret("plain", .engine("plain")))
      }
      await expectError(.insecureKey, "plain") {
        try await router.registerCatalog(Catalog(allKeys: [.key(secret("plain", .engine("plain")))]))
      }
      await expectError(.invalidDeclaration, "no engine 'none'") {
        try await router.set("s3cret", for: secret("none", .engine("none")))
      }
      try await router.registerCatalog(Catalog(allKeys: [.key(token)]))
      try await router.set("s3cret", for: token)
      #expect(try await router.get(token) == "s3cret")
      let entry = try #require(await router.auditReport().entries.first)
      #expect(entry.key.store == "sealed:\(file.path)" && entry.key.isSensitive)
      guard case .present(size: nil, _) = entry.state else { throw TestFailure("\(entry.state)") }
    }
    try await sealed.close()
  }

  /// A store of another module, which declares that it is made for secrets; its engine may do so, too.
  private func vault(_ name: String, engine: any StorageEngine) -> LocationScheme {
    LocationScheme(
      name, form: "\(name):NAME", meaning: "a server of secrets", keepsSecrets: name != "plain",
      exists: { _ in true }, open: { _, _ in engine })
  }

  private struct Secretive: EngineDecorator {
    let base: any StorageEngine
    var capabilities: StoreCapabilities {
      StoreCapabilities(
        base.capabilities.features.union(.secrecy), maximumValueSize: base.capabilities.maximumValueSize)
    }
  }

  // Requirement 1.64
  @Test("A secret is accepted in a store of a scheme that is made for secrets, and in no other")
  func schemes() async throws {
    let configuration = configured {
      $0.stores.schemes = [
        vault("vault", engine: Secretive(base: MemoryEngine())), vault("lying", engine: MemoryEngine()),
        vault("plain", engine: Secretive(base: MemoryEngine())),
      ]
    }
    func key(_ scheme: String) -> TypedKey<String> { secret("token", .store(.other(scheme: scheme, address: "x"))) }
    try await fixture.use(configuration) { router in
      await expectError(.insecureKey, "plain:x") { try await router.set("s3cret", for: key("plain")) }
      await expectError(.insecureKey, "plain:x") {
        try await router.registerCatalog(Catalog(allKeys: [.key(key("plain"))]))
      }
      await expectError(.invalidDeclaration, "'lying' declares") { try await router.set("s3cret", for: key("lying")) }
      await expectError(.invalidLocation, "'none:'") { try await router.set("s3cret", for: key("none")) }
      let database = StoreLocation.sqlite(path: fixture.path("store.db"))
      await expectError(.insecureKey, "store.db") { try await router.set("s3cret", for: secret("a", .store(database))) }
      try await router.registerCatalog(Catalog(allKeys: [.key(key("vault"))]))
      try await router.set("s3cret", for: key("vault"))
      #expect(try await router.get(key("vault")) == "s3cret")
      let entry = try #require(await router.auditReport().entries.first)
      #expect(entry.key.store == "vault:x" && entry.key.isSensitive)
    }
  }

  @Test("An audit without a keyring to ask does not report that a secret is absent, and creates nothing")
  func unknown() async throws {
    let keys: [AnyStorageKey] = [
      .key(secret("a", .keychain())), .key(secret("b", .chain(sealedAt: file, passphrase: passphrase))),
    ]
    let configuration = configured { $0.stores.keychain.address = "unix:path=\(fixture.path("no-bus"))" }
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(Catalog(allKeys: keys))
      for entry in await router.auditReport().entries {
        guard case .unavailable(let reason) = entry.state else { throw TestFailure("\(entry)") }
        #expect(reason.contains("keyring"))
      }
    }
    #expect(FileManager.default.subpaths(atPath: fixture.path(""))?.isEmpty != false)
  }
}
