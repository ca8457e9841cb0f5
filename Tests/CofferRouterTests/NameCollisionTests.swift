import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// The names that several declarations may share, and those that they must not.
@Suite(.serialized, .timeLimit(.minutes(15))) struct NameCollisionTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private func family(_ name: String, in domain: StorageDomain = .memory(), sync: SyncPolicy = .never)
    -> KeyFamily<String, Int>
  {
    KeyFamily(name, in: domain, owner: "Tests", about: "For a test.", sync: sync)
  }

  private func catalog(_ name: String, _ keys: AnyStorageKey...) -> ShopCatalog {
    ShopCatalog(name: name, allKeys: keys)
  }

  // Requirement 4.39
  @Test("One name in two stores is two keys, which the audit and the manifest distinguish")
  func twoStores() async throws {
    let (one, two) = (StorageDomain.userDefaults(suite: "com.example.one"), StorageDomain.userDefaults(suite: "two"))
    let (first, second) = (plain("k", in: one), plain("k", String.self, in: two))
    try await fixture.use { router in
      try await router.set(1, for: first)
      try await router.set("x", for: second)
      try await router.registerCatalog(catalog("A", .key(first), .key(second)))
      #expect(try await router.get(first) == 1)
      #expect(try await router.get(second) == "x")
      #expect(router.cached(first) == 1 && router.cached(second) == "x")
      try await router.remove(first)
      let entries = await router.auditReport().entries
      #expect(entries.map(\.key.domain) == ["preferences com.example.one", "preferences two"])
      #expect(entries.map(\.key.type) == ["Int", "String"] && entries[0].state == .absent)
      guard case .present = entries[1].state else { throw TestFailure("\(entries[1])") }
      #expect(await router.auditReport().undeclared.isEmpty)
      #expect(try await router.manifest().entries.map(\.store) == ["prefs:com.example.one", "prefs:two"])
      await expectError(.unregisteredKey, "preferences two") { _ = try await router.get(plain("k", in: .memory())) }
      // What is synced is identified by its name, on every device.
      await expectError(.duplicateKey, "preferences two") { try await router.setSyncPolicy(.manual, for: first) }
      try await router.setSyncPolicy(.never, for: first)
    }
  }

  // Requirement 4.39
  @Test("A synced key shares its name with no other; the error names both stores")
  func synced() async throws {
    try await fixture.use { router in
      let (synced, local) = (plain("k", in: .memory("one"), sync: .manual), plain("k", in: .memory("two")))
      for keys in [[synced, local], [local, synced]] {
        for part in ["memory one", "memory two", "synced"] {
          await expectError(.duplicateKey, part) {
            try await router.registerCatalog(ShopCatalog(name: "A", allKeys: keys.map { .key($0) }))
          }
        }
      }
      await expectError(.duplicateKey, "'f/'") {
        try await router.registerCatalog(
          self.catalog(
            "A", .family(self.family("f", in: .memory("one"), sync: .manual)), .key(plain("f/x", in: .memory("two")))))
      }
      #expect(router.allRegisteredEntries.isEmpty)
    }
  }

  @Test("Two domains that are one store have one set of names")
  func oneStore() async throws {
    try await fixture.use { router in
      let named = plain("k", in: .userDefaults(suite: "com.example.shop"))
      try await router.registerCatalog(catalog("A", .key(plain("k", in: .userDefaults()))))
      await expectError(.duplicateKey, "one store") { try await router.registerCatalog(self.catalog("B", .key(named))) }
    }
    try await fixture.use(configured { $0.unregisteredKeys = .allow }) { router in
      try await router.set(1, for: plain("k", in: .userDefaults()))
      await expectError(.duplicateKey, "one store") {
        _ = try await router.get(plain("k", in: .userDefaults(suite: "com.example.shop")))
      }
    }
  }

  // Requirement 4.39
  @Test("All names with the prefix of a family belong to it, in whichever order they are declared")
  func namespaces() async throws {
    let rivals: [AnyStorageKey] = [
      .key(plain("f/x")), .key(plain("f/")), .family(family("f")), .family(family("f/x")), .key(plain("f/x/y")),
    ]
    for rival in rivals {
      try await fixture.use { router in
        await expectError(.duplicateKey, "f/") {
          try await router.registerCatalog(self.catalog("A", .family(self.family("f")), rival))
        }
        await expectError(.duplicateKey, "f/") {
          try await router.registerCatalog(self.catalog("A", rival, .family(self.family("f"))))
        }
        try await router.registerCatalog(catalog("A", rival))
        await expectError(.duplicateKey, "f/") {
          try await router.registerCatalog(self.catalog("B", .family(self.family("f"))))
        }
      }
    }
    try await fixture.use(configured { $0.unregisteredKeys = .allow }) { router in
      try await router.set(1, for: family("f")["a"])
      await expectError(.duplicateKey, "the family 'f/'") { try await router.set(2, for: plain("f/a")) }
      await expectError(.duplicateKey) { _ = try await router.get(plain("f/")) }
      #expect(router.cached(plain("f/a")) == nil && router.cached(plain("f/")) == nil)
      // Neighbours of the namespace, and the same names in another store.
      try await router.registerCatalog(
        catalog(
          "A", .family(family("f")), .key(plain("f")), .family(family("f0")), .key(plain("f/a", in: .memory("x")))))
      #expect(try await router.get(family("f")["a"]) == 1)
    }
  }

  @Test("A family that is declared twice must agree, and needs a name and a separator")
  func declarations() async throws {
    try await fixture.use { router in
      try await router.set(1, for: family("f")["a"])
      let texts = KeyFamily<String, String>("f", in: .memory(), owner: "Tests", about: "For a test.")
      await expectError(.duplicateKey, "String") { try await router.set("x", for: texts["a"]) }
      let numbers = KeyFamily<Int, Int>("f", in: .memory(), owner: "Tests", about: "For a test.")
      await expectError(.duplicateKey, "by Int") { _ = try await router.ids(of: numbers) }
      await expectError(.invalidDeclaration, "no name") { _ = try await router.get(family("")["a"]) }
      let endless = KeyFamily<String, Int>("f", separator: "", in: .memory(), owner: "Tests", about: "For a test.")
      await expectError(.invalidDeclaration, "no separator") {
        try await router.registerCatalog(self.catalog("A", .family(endless)))
      }
      await expectError(.unregisteredKey, "f/") {
        try await router.registerCatalog(self.catalog("A"))
        try await router.set(1, for: family("f")["a"])
      }
    }
  }
}
