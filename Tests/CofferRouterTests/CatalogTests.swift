import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// Registration of catalogs, and the keys that a router refuses.
@Suite(.timeLimit(.minutes(15))) struct CatalogTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private func catalog(_ name: String, _ keys: AnyStorageKey...) -> ShopCatalog {
    ShopCatalog(name: name, allKeys: keys)
  }

  // Requirements 4.1, 4.8, 4.29, 4.30, 4.38, 4.42
  @Test("Several catalogs can be registered, and their keys are listed")
  func registration() async throws {
    try await fixture.use { router in
      #expect(router.allRegisteredCatalogs.isEmpty && router.allRegisteredEntries.isEmpty)
      try await router.registerCatalog(ShopCatalog())
      try await router.registerCatalog(catalog("Other", .key(plain("other"))))
      #expect(router.allRegisteredCatalogs.map(\.name) == ["Shop", "Other"])
      #expect(router.allRegisteredEntries.map(\.name) == ["name", "other", "recent", "theme", "token", "visits"])
      let theme = try #require(router.allRegisteredEntries.first { $0.name == "theme" })
      #expect(theme.valueType == "Theme" && theme.hasDefault && theme.serializer == "JSON")
      #expect(theme.domain == .userDefaults() && theme.security == .none && !theme.isSensitive)
      let token = try #require(router.allRegisteredEntries.first { $0.name == "token" })
      #expect(token.isSensitive && token.security == .keychain(accessibility: .whenUnlocked) && !token.hasDefault)
    }
  }

  // Requirements 4.28, 4.39, 4.40
  @Test("A catalog with a duplicate or an incomplete declaration is refused as a whole")
  func refusals() async throws {
    try await fixture.use { router in
      try await router.registerCatalog(ShopCatalog())
      await expectError(.duplicateKey, "Shop") { try await router.registerCatalog(ShopCatalog()) }
      await expectError(.duplicateKey, "theme") {
        try await router.registerCatalog(
          self.catalog("A", .key(plain("a")), .key(plain("theme", String.self, in: .userDefaults()))))
      }
      await expectError(.duplicateKey, "b") {
        try await router.registerCatalog(self.catalog("B", .key(plain("b")), .key(plain("b"))))
      }
      // The two names are canonically equivalent.
      await expectError(.duplicateKey) {
        try await router.registerCatalog(self.catalog("C", .key(plain("e\u{301}")), .key(plain("\u{E9}"))))
      }
      await expectError(.invalidDeclaration, "description") {
        try await router.registerCatalog(self.catalog("D", .key(plain("d", about: " "))))
      }
      await expectError(.invalidDeclaration, "owner") {
        try await router.registerCatalog(self.catalog("E", .key(plain("e", owner: ""))))
      }
      await expectError(.invalidKey) { try await router.registerCatalog(self.catalog("F", .key(plain("")))) }
      #expect(router.allRegisteredCatalogs.count == 1)
      #expect(router.allRegisteredEntries.count == 5)
    }
  }

  @Test("A key needs a name, a type and a place; a catalog requires its owner and purpose, too")
  func bareKeys() async throws {
    try await fixture.use { router in
      let count = TypedKey<Int>("count", in: .userDefaults())
      let size = SettingKey("size", in: .userDefaults(), default: 12)
      let drafts = KeyFamily<Int, String>("drafts", in: .userDefaults())
      try await router.set(3, for: count)
      try await router.set("Dear", for: drafts[7])
      #expect(try await router.get(count) == 3)
      #expect(try await router.get(size) == 12)
      #expect(try await router.get(drafts[7]) == "Dear")
      await expectError(.invalidDeclaration, "owner") {
        try await router.registerCatalog(self.catalog("G", .key(TypedKey<Int>("other", in: .userDefaults()))))
      }
    }
  }

  // Requirements 1.62, 1.64, 4.19
  @Test("A secret is refused in an unprotected store, and with a sync policy")
  func secrets() async throws {
    struct Password: StorageKey {
      typealias Value = String
      let name = "password"
      var domain = StorageDomain.userDefaults()
      var syncPolicy = SyncPolicy.never
      let owner = "Account"
      let description = "The password."
      var isSensitive: Bool { true }
    }
    try await fixture.use { router in
      await expectError(.insecureKey, "password") { try await router.set("s3cret", for: Password()) }
      await expectError(.insecureKey) {
        try await router.registerCatalog(self.catalog("A", .key(Password(domain: .database()))))
      }
      await expectError(.insecureKey, "sent") {
        try await router.registerCatalog(self.catalog("B", .key(Password(domain: .keychain(), syncPolicy: .manual))))
      }
      #expect(!FileManager.default.fileExists(atPath: fixture.path("config/com.example.shop.plist")))
    }
  }

  // Requirement 4.19
  @Test(
    "A security policy that the domain does not support is refused",
    arguments: [
      (StorageDomain.database(), SecurityPolicy.keychain()), (.userDefaults(), .keychain(accessibility: .always)),
      (.keychain(), .none), (.keychain(), .encrypted(.aes256)), (.encryptedFileSystem(.caches), .none),
      (.encryptedFileSystem(.caches), .keychain()),
    ])
  func contradictions(_ domain: StorageDomain, _ security: SecurityPolicy) async throws {
    try await fixture.use { router in
      let key = plain("k", in: domain, security: security)
      await expectError(.invalidDeclaration, "k") { try await router.set(1, for: key) }
      await expectError(.invalidDeclaration, "k") { try await router.registerCatalog(self.catalog("A", .key(key))) }
    }
  }

  // Requirement 4.26
  @Test("Encryption without a key and access control are refused when used, never weakened")
  func later() async throws {
    try await fixture.use { router in
      let encrypted = plain("e", in: .encryptedFileSystem(.documents))
      let column = plain("c", in: .database(), security: .encrypted(.chaCha20Poly1305))
      let guarded = TypedKey<String>(
        secret: "g", in: .keychain(accessControl: .biometryAny), owner: "Tests", about: "For a test.")
      try await router.registerCatalog(self.catalog("A", .key(encrypted), .key(column), .key(guarded)))
      for key in [encrypted, column] {
        await expectError(.unavailable, "key") { try await router.set(1, for: key) }
        await expectError(.unavailable, "key") { _ = try await router.get(key) }
      }
      await expectError(.unsupported, "biometryAny") { try await router.set("x", for: guarded) }
    }
  }

  // Requirement 4.23
  @Test("A key of another platform is refused, with an error that names the key")
  func platforms() async throws {
    let keys = PlatformAvailability.allCases.map { plain($0.rawValue, availability: $0) }
    let expected: [StorePlatform: [PlatformAvailability]] = [
      .phone: [.all, .phoneOnly, .phoneWithWatchSync], .watch: [.all, .watchOnly, .phoneWithWatchSync],
      .computer: [.all, .phoneWithWatchSync],
    ]
    for platform in StorePlatform.allCases {
      try await fixture.use(configured { $0.platform = platform }) { router in
        for key in keys {
          guard expected[platform]?.contains(key.availability) == true else {
            await expectError(.platformUnavailable, key.name) { try await router.set(1, for: key) }
            await expectError(.platformUnavailable, key.name) { _ = try await router.get(key) }
            continue
          }
          try await router.set(1, for: key)
          #expect(try await router.get(key) == 1)
        }
      }
    }
  }

  // Requirement 4.41
  @Test("Once a catalog is registered, unregistered keys are refused according to the configuration")
  func unregistered() async throws {
    try await fixture.use { router in
      try await router.set(1, for: plain("early"))
      try await router.registerCatalog(ShopCatalog())
      await expectError(.unregisteredKey, "late") { try await router.set(1, for: plain("late")) }
      #expect(router.cached(plain("late")) == nil)
      await expectError(.unregisteredKey, "early") { _ = try await router.get(plain("early")) }
      #expect(router.cached(plain("early")) == nil)
    }
    try await fixture.use(configured { $0.unregisteredKeys = .allow }) { router in
      try await router.registerCatalog(ShopCatalog())
      try await router.set(1, for: plain("late"))
      #expect(router.allRegisteredEntries.count == 5)
    }
  }

  #if DEBUG
    // Requirement 4.41
    @Test("In a debug build an unregistered key is an assertion failure")
    func assertion() async throws {
      await #expect(processExitsWith: .failure) {
        let router = StorageRouter()
        try await router.registerCatalog(ShopCatalog())
        try await router.set(1, for: plain("late"))
      }
    }
  #endif

  // Requirement 4.39
  @Test("Two equal declarations are one key; two different ones are an error that names both")
  func declaredTwice() async throws {
    try await fixture.use { router in
      try await router.set(1, for: plain("k"))
      try await router.set(2, for: plain("k", default: 5))
      await expectError(.duplicateKey, "String") { try await router.set("x", for: plain("k", String.self)) }
      let secured = plain("k", security: .encrypted(.aes256))
      await expectError(.duplicateKey, "protection") { _ = try await router.get(secured) }
      try await router.set(1, for: plain("e\u{301}"))
      await expectError(.duplicateKey) { _ = try await router.get(plain("\u{E9}")) }
      #expect(try await router.get(plain("k")) == 2)
      try await router.registerCatalog(catalog("A", .key(plain("k"))))
      await expectError(.duplicateKey) { try await router.registerCatalog(self.catalog("B", .key(plain("k")))) }
    }
  }

  @Test("A hundred tasks use a router while its catalogs are registered")
  func registrationUnderWay() async throws {
    try await fixture.use { router in
      let keys = (0..<20).map { plain("key\($0)", default: 0) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<100 {
          group.addTask {
            for key in keys {
              do { try await router.update(key) { $0 += 1 } } catch let error as StorageError {
                // Expected between the registration of the first catalog and of the key's own.
                guard error.code == .unregisteredKey else { throw error }
              }
            }
            if number % 5 == 0 {
              let part = number / 5
              try await router.registerCatalog(ShopCatalog(name: "Part\(part)", allKeys: [.key(keys[part])]))
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(router.allRegisteredCatalogs.count == 20)
      for key in keys { #expect(try await router.get(key) <= 100) }
    }
  }
}
