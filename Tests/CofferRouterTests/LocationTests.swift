import CofferRouter
import Foundation
import Testing

/// Keys whose domain is the location of a store.
struct LocationTests {
  private let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  @Test("A secret is kept in a sealed file, and the audit names it")
  func sealed() async throws {
    let location = StoreLocation.sealed(path: fixture.path("secrets.sealed"))
    let file = URL(fileURLWithPath: fixture.path("secrets.sealed"))
    let key = TypedKey<String>(secret: "token", in: .sealed(at: file), owner: "Account", about: "The shop's session.")
    let configuration = configured { $0.stores.passphrase = { _ in .provided { Data("correct horse".utf8) } } }
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      try await router.set("s3cret", for: key)
      #expect(try await router.get(key) == "s3cret")
      let entry = try #require(await router.auditReport().entries.first)
      #expect(entry.key.store == location.description)
    }
    try await fixture.use(configured { _ in }) { router in
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      await expectError(.unavailable, "passphrase") { _ = try await router.get(key) }
    }
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      #expect(try await router.get(key) == "s3cret")
    }
  }

  @Test("A key with keychain protection is refused in an unprotected store")
  func insecure() async throws {
    let key = plain("pin", in: .store(.sqlite(path: fixture.path("plain.db"))), default: 0, security: .keychain())
    try await fixture.use { router in
      await expectError(.invalidDeclaration, "does not support") { try await router.set(1, for: key) }
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.path("plain.db")))
  }

  // Requirement 4.16
  @Test("Different spellings of a path are one store")
  func shared() async throws {
    let url = URL(fileURLWithPath: fixture.path("shop.db"))
    let first = plain("a", in: .database(url), default: 0)
    let second = plain("b", in: .store(.sqlite(path: fixture.path("x/../shop.db"))), default: 0)
    try await fixture.use(configured { $0.unregisteredKeys = .allow }) { router in
      try await router.batch {
        $0.set(1, for: first)
        $0.set(2, for: second)
      }
      #expect(try await router.get(second) == 2)
    }
  }

  private struct Catalog: StorageKeyCatalog {
    var name = "Shop"
    var allKeys: [AnyStorageKey]
  }
}
