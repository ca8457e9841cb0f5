import Coffer
import Foundation
import Testing

/// Keys in stores that are named by their locations.
struct LocationTests {
  private let place: RouterPlace

  init() throws { place = try RouterPlace() }

  @Test("A secret is kept in a sealed file, and the audit names it")
  func sealed() async throws {
    let location = StoreLocation.sealed(path: place.path("secrets.sealed"))
    let file = URL(fileURLWithPath: place.path("secrets.sealed"))
    let key = TypedKey<String>(secret: "token", in: .sealed(at: file), owner: "Account", about: "The shop's session.")
    let configuration = configured { $0.stores.passphrase = { _ in .provided { Data("correct horse".utf8) } } }
    try await place.use(configuration) { router in
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      try await router.set("s3cret", for: key)
      #expect(try await router.get(key) == "s3cret")
      let entry = try #require(await router.auditReport().entries.first)
      #expect(entry.key.store == location.description)
    }
    try await place.use(configured { _ in }) { router in
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      await expectError(.unavailable, "passphrase") { _ = try await router.get(key) }
    }
    try await place.use(configuration) { router in
      try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
      #expect(try await router.get(key) == "s3cret")
    }
  }

  @Test("A secret is not kept where everybody can read it")
  func insecure() async throws {
    let key = plain("pin", in: .store(.sqlite(path: place.path("plain.db"))), default: 0, security: .keychain())
    try await place.use { router in
      await expectError(.invalidDeclaration, "cannot do") { try await router.set(1, for: key) }
    }
    #expect(!FileManager.default.fileExists(atPath: place.path("plain.db")))
  }

  @Test("One file is one home, however it is named")
  func shared() async throws {
    let url = URL(fileURLWithPath: place.path("shop.db"))
    let first = plain("a", in: .database(url), default: 0)
    let second = plain("b", in: .store(.sqlite(path: place.path("x/../shop.db"))), default: 0)
    try await place.use(configured { $0.unregisteredKeys = .allow }) { router in
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
