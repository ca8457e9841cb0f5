import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Values through a router, over stores on disk.
@Suite(.timeLimit(.minutes(15))) struct RouterTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  // Requirements 4.2, 4.4, 4.6
  @Test("Set, get, remove, and then notFound")
  func roundTrip() async throws {
    try await fixture.use { router in
      try await router.set("Ann", for: .name)
      #expect(try await router.get(.name) == "Ann")
      #expect(try await router.exists(.name))
      try await router.remove(.name)
      await expectError(.notFound, "name") { _ = try await router.get(.name) }
      #expect(try await !router.exists(.name))
      try await router.remove(.name)
    }
  }

  // Requirements 4.4, 4.37
  @Test("A default is returned and never written")
  func defaults() async throws {
    try await fixture.use { router in
      #expect(try await router.get(.theme) == .system)
      #expect(try await !router.exists(.theme))
      #expect(!FileManager.default.fileExists(atPath: fixture.path("config/com.example.shop.plist")))
      #expect(try await router.get(StorageKeys.recent) == [])
      try await router.set(.dark, for: .theme)
      #expect(try await router.get(.theme) == .dark)
    }
    let theme = try await fixture.use { try await $0.get(.theme) }
    #expect(theme == .dark)
  }

  // Requirement 4.37
  @Test("The shared router is one object for the whole process")
  func shared() async throws {
    struct Catalog: StorageKeyCatalog {
      let name = "Shared"
      let allKeys: [AnyStorageKey]
    }
    let key = plain("shared", in: .memory("of the shared router"))
    try await SystemDirectories.$current.withValue(fixture.system) {
      try await StorageRouter.shared.registerCatalog(Catalog(allKeys: [.key(key)]))
      try await StorageRouter.shared.set(3, for: key)
      let same = StorageRouter.shared
      let value = try await same.get(key)
      #expect(value == 3)
    }
  }

  // Requirements 1.41, 4.16
  @Test("Every kind of store holds the value in its own format")
  func stores() async throws {
    try await fixture.use { router in
      try await router.set(.light, for: .theme)
      try await router.set(["mugs"], for: StorageKeys.recent)
      try await router.set(7, for: .visits)
    }
    let list = try Data(contentsOf: URL(fileURLWithPath: fixture.path("config/com.example.shop.plist")))
    let values = try PropertyListSerialization.propertyList(from: list, options: [], format: nil) as? [String: String]
    #expect(values?["theme"] == "light")
    let file = try Data(contentsOf: URL(fileURLWithPath: fixture.path("documents/com.example.shop/recent")))
    #expect(try PropertyListDecoder().decode([[String]].self, from: file) == [["mugs"]])
    #expect(FileManager.default.fileExists(atPath: fixture.path("data/com.example.shop/coffer.db")))
  }

  @Test("Two domains with the same location share a store, and a batch over them is one commit")
  func sharedStore() async throws {
    try await fixture.use { router in
      let (left, right) = (plain("a"), plain("b", in: .userDefaults(suite: "com.example.shop")))
      let other = plain("c", in: .userDefaults())
      try await router.batch { batch in
        batch.set(1, for: right)
        batch.set(2, for: other)
        batch.remove(.theme)
      }
      #expect(try await router.get(right) == 1)
      #expect(try await router.get(other) == 2)
      await expectError(.notAtomic, "several stores") {
        try await router.batch { batch in
          batch.set(5, for: left)
          batch.set(6, for: right)
        }
      }
      #expect(try await router.get(right) == 1)
      #expect(try await !router.exists(left))
    }
  }

  // Requirement 4.6
  @Test("Keys that are read together have values of one state", .timeLimit(.minutes(5)))
  func states() async throws {
    try await fixture.use { router in
      let (a, b) = (plain("a"), plain("b"))
      let writer = Task {
        for number in 1...300 {
          try await router.batch(durability: .relaxed) { batch in
            batch.set(number, for: a)
            batch.set(number, for: b)
          }
        }
      }
      var last = 0
      while last < 300 {
        let state = try await router.state(of: [a, b])
        guard let number = try? state.get(a) else { continue }  // Nothing is written yet, and there is no default.
        #expect(try state.get(b) == number && number >= last)
        last = number
      }
      try await writer.value
      let theme: SettingKey<Theme> = .theme
      #expect(try await router.state(of: [theme]).get(theme) == .system)
      await expectError(.unregisteredKey, "part of this state") { _ = try await router.state(of: [a]).get(b) }
      await expectError(.notAtomic, "several stores") {
        _ = try await router.state(of: [a, plain("c", in: .userDefaults())])
      }
    }
  }

  // Requirement 4.6
  @Test("A batch has one transaction, and its last change of a key wins")
  func batches() async throws {
    try await fixture.use { router in
      let changes = try await router.changes(of: .visits)
      let transaction = TransactionID()
      try await router.batch(transaction: transaction) { batch in
        batch.set(1, for: .visits)
        batch.set(2, for: .visits)
        batch.set("Ann", for: .name)
      }
      try await router.batch { _ in }
      #expect(try await router.get(.visits) == 2)
      var iterator = changes.makeAsyncIterator()
      guard case .changed(_, transaction, true)? = await iterator.next() else { throw TestFailure("another change") }
    }
  }

  // Requirement 4.6
  @Test("Updates of many tasks lose none, and start from the default")
  func updates() async throws {
    try await fixture.use { router in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<100 { group.addTask { try await router.update(.visits) { $0 += 1 } } }
        try await group.waitForAll()
      }
      #expect(try await router.get(.visits) == 100)
      await expectError(.notFound) { try await router.update(.name) { $0 += "!" } }
      try await router.set("Ann", for: .name)
      #expect(try await router.update(.name) { $0 += "!" } == "Ann!")
    }
  }

  // Requirement 4.6
  @Test("The values of a key are delivered, also those of other writers")
  func values() async throws {
    try await fixture.use { router in
      let values = try await router.values(of: .visits)
      var iterator = values.makeAsyncIterator()
      #expect(try await iterator.next()?.get() == 0)
      try await router.set(1, for: .visits)
      #expect(try await iterator.next()?.get() == 1)
      try await fixture.use { try await $0.set(2, for: .visits) }
      #expect(try await iterator.next()?.get() == 2)
      try await router.remove(.visits)
      #expect(try await iterator.next()?.get() == 0)
    }
  }

  // Requirement 4.6
  @Test("A cached value is returned only while it is current")
  func cached() async throws {
    try await fixture.use { router in
      #expect(router.cached(.visits) == nil)
      try await router.set(3, for: .visits)
      #expect(router.cached(.visits) == 3)
      #expect(router.cached(plain("visits", String.self, in: .database())) == nil)
      try await fixture.use { try await $0.set(4, for: .visits) }
      _ = try await router.get(.visits)
      #expect(router.cached(.visits) == 4)
      try await router.remove(.visits)
      #expect(router.cached(.visits) == nil)
    }
  }

  // Requirement 4.28
  @Test("A value that no longer decodes is kept, and the error names its key")
  func undecodable() async throws {
    try await fixture.use { router in
      try await router.set("many", for: plain("count", String.self, in: .database()))
    }
    try await fixture.use { router in
      let key = plain("count", in: .database(), default: 0)
      await expectError(.decodingFailed, "count") { _ = try await router.get(key) }
      await expectError(.decodingFailed, "count") { try await router.update(key) { $0 += 1 } }
      let bytes = try await router.bytes(of: key)
      #expect(bytes == Data(#""many""#.utf8))
    }
    let kept = try await fixture.use { try await $0.get(plain("count", String.self, in: .database())) }
    #expect(kept == "many")
  }

  // Requirement 4.28
  @Test("The error of a serializer names the key and omits the serializer's text")
  func throwingSerializer() async throws {
    struct Quote: Error { let text: String }
    let key = TypedKey<String>(
      "diary", in: .memory(), owner: "Tests", about: "For a test.",
      as: .custom(name: "picky", encode: { throw Quote(text: $0) }, decode: { _ in throw Quote(text: "s3cret") }))
    try await fixture.use { router in
      do {
        try await router.set("s3cret", for: key)
        Issue.record("nothing was thrown")
      } catch let error as StorageError {
        #expect(error.code == .encodingFailed && error.key?.string == "diary")
        #expect(!error.description.contains("s3cret"))
      }
      #expect(try await !router.exists(key))
    }
  }

  @Test("A key can use a configured engine, and a missing engine is an error")
  func engines() async throws {
    let engine = MemoryEngine(name: "mine")
    try await fixture.use(configured { $0.engines["mine"] = engine }) { router in
      let key = plain("a", in: .engine("mine"))
      try await router.set(1, for: key)
      #expect(try await engine.entry(KeyName("a"))?.value == Data("1".utf8))
      await expectError(.invalidDeclaration, "nobodys") {
        try await router.set(1, for: plain("b", in: .engine("nobodys")))
      }
    }
    // An engine of the configuration stays open.
    #expect(try await engine.entry(KeyName("a")) != nil)
  }

  // Requirement 4.28
  @Test("A missing store is an error and never a default; it works once it exists")
  func away() async throws {
    let parent = fixture.path("mounted")
    let url = URL(fileURLWithPath: parent, isDirectory: true)
    let key = plain("theme", in: .fileSystem(.custom(url)), default: 1)
    try await fixture.use(configured { $0.stores.slots.createsIfMissing = false }) { router in
      await expectError(.notFound, "no store") { _ = try await router.get(key) }
      await expectError(.notFound) { try await router.set(2, for: key) }
      #expect(router.cached(key) == nil)
      try await fixture.use { try await $0.set(3, for: key) }
      #expect(try await router.get(key) == 3)
    }
  }

  // Requirement 4.7
  @Test("An application accepts any router or a replacement")
  func injection() async throws {
    struct Settings {
      let storage: any StorageProviding
      func isDark() async throws -> Bool { try await storage.get(.theme) == .dark }
    }
    struct Fixed: StorageProviding {
      func set<K: StorageKey>(_ value: K.Value, for key: K) async throws {}
      func remove<K: StorageKey>(_ key: K) async throws {}
      func exists<K: StorageKey>(_ key: K) async throws -> Bool { true }
      func get<K: StorageKey>(_ key: K) async throws -> K.Value {
        guard let value = Theme.dark as? K.Value else { throw TestFailure("another key") }
        return value
      }
    }
    #expect(try await Settings(storage: Fixed()).isDark())
    try await fixture.use { router in
      #expect(try await !Settings(storage: router).isDark())
      try await router.set(.dark, for: .theme)
      #expect(try await Settings(storage: router).isDark())
    }
  }

  @Test("A router for tests keeps all values in memory, including secrets, and shares nothing")
  func inMemory() async throws {
    try await SystemDirectories.$current.withValue(fixture.system) {
      let (router, other) = (StorageRouter.inMemory(), StorageRouter.inMemory())
      try await router.registerCatalog(ShopCatalog())
      try await router.set(.dark, for: .theme)
      try await router.set("s3cret", for: .token)
      try await router.set(["a"], for: StorageKeys.recent)
      #expect(try await router.get(.theme) == .dark)
      #expect(try await router.get(.token) == "s3cret")
      #expect(try await other.get(.theme) == .system)
      #expect(try await !other.exists(.token))
      await expectError(.unregisteredKey) { try await router.set(1, for: plain("late")) }
    }
    #expect(FileManager.default.subpaths(atPath: fixture.path(""))?.isEmpty != false)
  }

  @Test("A closed router throws closed")
  func closed() async throws {
    try await fixture.use { router in
      try await router.set(1, for: .visits)
      try await router.close()
      await expectError(.closed) { try await router.set(2, for: .visits) }
      await expectError(.closed) { try await router.set("x", for: plain("other", String.self)) }
    }
  }
}
