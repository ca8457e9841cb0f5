import CofferCore
import CofferRouter
import CofferTesting
import Foundation
import Testing

/// Returns a text with a migration, by default from a text in another store.
func moved(
  _ name: String = "new", in domain: StorageDomain = .memory("new"),
  from old: TypedKey<String> = plain("old", String.self, in: .memory("old"))
) -> TypedKey<String> {
  plain(name, String.self, in: domain).migrating { key in
    AnyStorageMigration(from: old, to: key)
  }
}

/// A migration of an integer that counts its runs, and does what it is told.
struct CountedMigration: StorageMigration {
  let destinationKey: TypedKey<Int>
  let runs: Locked<Int>
  var name = "counted"
  var body: @Sendable (StorageRouter, MigrationContext) async throws -> MigrationResult = { _, _ in
    MigrationResult(success: true)
  }

  func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { true }
  func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    runs.withLock { $0 += 1 }
    return try await body(router, context)
  }
}

@Suite struct KeyMigrationTests {
  private struct Refusal: Error {}

  private let old = plain("old", String.self, in: .memory("old"))

  // Requirements 1.68, 4.5
  @Test("Every kind of first access migrates the key", arguments: ["old", "new"])
  func everyAccess(store: String) async throws {
    let old = plain("old", String.self, in: .memory(store))
    let key = moved(from: old)
    let domain = key.domain
    let accesses: [@Sendable (StorageRouter) async throws -> String?] = [
      { try await $0.get(key) }, { try await $0.exists(key) ? "a" : nil },
      { String(decoding: try await $0.bytes(of: key) ?? Data(), as: UTF8.self).trimmingCharacters(in: ["\""]) },
      { try await $0.update(key) { _ in } }, { try await $0.versioned(key).value },
      { router in
        for await value in try await router.values(of: key) { return try value.get() }
        return nil
      },
      { try await $0.transaction(in: domain) { try await $0.get(key) } },
      { router in
        try await router.batch { $0.set("b", for: plain("other", String.self, in: domain)) }
        _ = try await router.changes(of: key)
        return router.cached(key) ?? "a"
      },
    ]
    for (number, access) in accesses.enumerated() {
      let router = StorageRouter.inMemory()
      try await router.set("a", for: old)
      #expect(router.cached(key) == nil)
      #expect(try await access(router) == "a", "access \(number)")
      #expect(try await !router.exists(old))
      #expect(try await router.get(key) == "a")
    }
  }

  // Requirement 4.5
  @Test("A write to a key comes after its migration, so that no older value returns")
  func writes() async throws {
    let key = moved()
    var router = StorageRouter.inMemory()
    try await router.set("a", for: old)
    try await router.set("b", for: key)
    #expect(try await router.get(key) == "b")
    #expect(try await !router.exists(old))

    router = StorageRouter.inMemory()
    try await router.set("a", for: old)
    try await router.remove(key)
    await expectError(.notFound) { _ = try await router.get(key) }
    #expect(try await !router.exists(old))

    router = StorageRouter.inMemory()
    try await router.set("a", for: old)
    try await router.batch { $0.remove(key) }
    #expect(try await !router.exists(key))
    #expect(try await !router.exists(old))
  }

  // Requirement 4.9
  @Test("Values are converted and combined")
  func kinds() async throws {
    let router = StorageRouter.inMemory()
    let length = plain("length", in: .memory("new")).migrating { [old] key in
      AnyStorageMigration(from: old, to: key) { $0.count }
    }
    try await router.set("four", for: old)
    #expect(try await router.get(length) == 4)

    let (first, last, none) = (plain("first", String.self), plain("last", String.self), plain("none"))
    let name = SettingKey<String>(
      "name", in: .memory("new"), owner: "Tests", about: "For a test.", default: "nobody"
    ).migrating { key in
      AnyStorageMigration(from: [.key(first), .key(none), .key(last)], to: key) { values in
        #expect(values.count == 2 && values[none] == nil && values[plain("other")] == nil)
        return [values[first], values[last]].compactMap { $0 }.joined(separator: " ")
      }
    }
    try await router.set("Ann", for: first)
    try await router.set("Lee", for: last)
    #expect(try await router.get(name) == "Ann Lee")
    #expect(try await !router.exists(first))
    #expect(try await !router.exists(last))
  }

  @Test("Each older value is read by its own serializer, and the new one is written by that of the key")
  func serializers() async throws {
    let router = StorageRouter.inMemory()
    let list = TypedKey<[String]>(
      "list", in: .memory("old"), owner: "Tests", about: "For a test.", as: .propertyList)
    let key = plain("list", [String].self, in: .memory("new")).migrating { key in
      AnyStorageMigration(from: list, to: key)
    }
    try await router.set(["a"], for: list)
    #expect(try await router.bytes(of: key) == Data(#"["a"]"#.utf8))
  }

  // Requirements 4.9, 4.34
  @Test("A key with a value of its own keeps it, and the older value stays")
  func conflict() async throws {
    let engine = MemoryEngine()
    let domain = StorageDomain.engine("new")
    let new = moved(in: domain)
    let earlier = StorageRouter.inMemory { $0.engines = ["new": engine] }
    try await earlier.set("own", for: plain("new", String.self, in: domain))
    let later = StorageRouter.inMemory { $0.engines = ["new": engine] }
    try await later.set("a", for: old)
    #expect(try await later.get(new) == "own")
    #expect(try await later.get(old) == "a")
    try await later.remove(new)
    #expect(try await !later.exists(new), "the older value does not return")
    let forced = try await later.forceMigration(for: new)
    #expect(forced.migratedCount == 1)
    #expect(try await later.get(new) == "a")
    #expect(try await !later.exists(old))
  }

  // Requirements 1.68, 4.9
  @Test("A migration runs once under a hundred readers, and is not run again")
  func hundredReaders() async throws {
    let (runs, engine) = (Locked(0), MemoryEngine())
    let key = plain("counted", in: .engine("new")).migrating { key in
      AnyStorageMigration(
        CountedMigration(destinationKey: key, runs: runs) { router, _ in
          for _ in 0..<100 { await Task.yield() }
          try await router.set(7, for: key)
          return MigrationResult(success: true, migratedCount: 1)
        })
    }
    for _ in 0..<3 {
      let router = StorageRouter.inMemory { $0.engines = ["new": engine] }
      let values = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<100 { group.addTask { try await router.get(key) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(values == Array(repeating: 7, count: 100))
      #expect(router.cached(key) == 7)
    }
    #expect(runs.withLock { $0 } == 1)
  }

  // Requirement 4.5
  @Test("A migration that fails changes nothing and concerns its key only; the next access tries again")
  func failures() async throws {
    let fails = Locked(true)
    let key = plain("new", in: .memory("new")).migrating { [old] key in
      AnyStorageMigration(from: old, to: key) { (text: String) throws -> Int in
        if fails.withLock({ $0 }) { throw Refusal() }
        return text.count
      }
    }
    let router = StorageRouter.inMemory()
    try await router.set("secret", for: old)
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) { _ = try await router.get(key) }
      #expect(error?.code == .migrationFailed && error?.key == "new")
      #expect(error?.message.contains("Refusal") == true && "\(error as Any)".contains("secret") == false)
    }
    #expect(router.cached(key) == nil)
    #expect(try await router.get(old) == "secret")
    try await router.set(1, for: plain("other", in: .memory("new")))
    fails.withLock { $0 = false }
    #expect(try await router.get(key) == 6)
  }

  // Requirement 4.35
  @Test("An error that would look like an absent value is one of the migration")
  func ambiguousErrors() async throws {
    let router = StorageRouter.inMemory()
    let key = plain("new").migrating { [old] key in
      AnyStorageMigration(
        CountedMigration(destinationKey: key, runs: Locked(0)) { router, _ in
          _ = try await router.get(old)
          return MigrationResult(success: true)
        })
    }
    await expectError(.migrationFailed, "no value") { _ = try await router.get(key) }
    let refused = plain("refused").migrating { key in
      AnyStorageMigration(
        CountedMigration(destinationKey: key, runs: Locked(0)) { _, _ in
          MigrationResult(success: false, errors: [.sourceUnreadable(key: "old", reason: "it is torn")])
        })
    }
    await expectError(.migrationFailed, "it is torn") { _ = try await router.get(refused) }
  }

  // Requirements 4.9, 4.35
  @Test("Migrations form chains, and a cycle is an error")
  func chains() async throws {
    let router = StorageRouter.inMemory()
    let first = plain("v1", String.self)
    let second = moved("v2", from: first)
    let third = moved("v3", from: second)
    try await router.set("a", for: first)
    #expect(try await router.get(third) == "a")
    #expect(try await !router.exists(first))
    #expect(try await !router.exists(second))

    @Sendable func cyclic(_ name: String, _ other: String) -> TypedKey<Int> {
      plain(name).migrating { key in
        AnyStorageMigration(
          CountedMigration(destinationKey: key, runs: Locked(0)) { router, _ in
            _ = try await router.exists(cyclic(other, name))
            return MigrationResult(success: true)
          })
      }
    }
    await withTaskGroup { group in
      for (name, other) in [("x", "y"), ("y", "x")] {
        group.addTask {
          await expectError(.invalidDeclaration, "wait for each other") {
            _ = try await router.get(cyclic(name, other))
          }
        }
      }
    }
    await expectError(.migrationFailed, "its own older one") {
      _ = try await router.get(moved("own", in: .memory("x"), from: plain("own", String.self, in: .memory("x"))))
    }
    let foreign = plain("foreign").migrating { _ in
      AnyStorageMigration(CountedMigration(destinationKey: plain("another"), runs: Locked(0)))
    }
    await expectError(.migrationFailed, "another key") { _ = try await router.get(foreign) }
  }

  // Requirements 4.9, 4.34
  @Test("Older keys need no catalog, and are refused outside of the migration")
  func catalogs() async throws {
    let router = StorageRouter.inMemory()
    try await router.set("a", for: old)
    let key = moved()
    let failing = plain("failing").migrating { key in
      AnyStorageMigration(CountedMigration(destinationKey: key, runs: Locked(0)) { _, _ in throw Refusal() })
    }
    let catalog = ShopCatalog(name: "A", allKeys: [.key(failing), .key(key)])
    await expectError(.migrationFailed, "Refusal") {
      try await router.registerCatalog(catalog, migrateImmediately: true)
    }
    #expect(router.cached(failing) == nil && router.allRegisteredEntries.count == 2)
    await expectError(.unregisteredKey) { _ = try await router.get(old) }
    #expect(try await router.get(key) == "a")
    #expect(try await router.forceMigration(for: key).migratedCount == 0)
  }

  // Requirements 4.9, 4.33
  @Test("A condition compares the version by which the key was last migrated")
  func versions() async throws {
    let engine = MemoryEngine()
    func migrated(_ version: String, before limit: String) async throws -> [String?] {
      let router = StorageRouter.inMemory {
        $0.engines = ["new": engine]
        $0.appVersion = version
      }
      let seen = Locked<[String?]>([])
      let key = plain("new", in: .engine("new")).migrating { key in
        AnyStorageMigration(
          CountedMigration(destinationKey: key, runs: Locked(0)) { _, context in
            #expect(context.appVersion == version)
            seen.withLock { $0.append(context.previousAppVersion) }
            return MigrationResult(success: true)
          }
        ).before(appVersion: limit)
      }
      _ = try await router.exists(key)
      return seen.withLock { $0 }
    }
    #expect(try await migrated("1.9", before: "1.0") == [nil], "nobody knows what ran before")
    #expect(try await migrated("2.0", before: "1.9.0") == [])
    #expect(try await migrated("2.0", before: "1.10") == [])
    #expect(try await migrated("3.0", before: "2.1") == ["2.0"])
    #expect(try await migrated("3.1", before: "2.1") == [], "it is done")
    #expect(try await migrated("10.0", before: "4") == ["3.0"])
  }

  @Test("A value that expires keeps its expiry")
  func expiry() async throws {
    let engine = MemoryEngine()
    let router = StorageRouter.inMemory { $0.engines = ["new": engine] }
    let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 3_600).rounded())
    try await router.set("a", for: old, expires: end)
    #expect(try await router.get(moved(in: .engine("new"))) == "a")
    #expect(try await engine.entry("new")?.attributes.expires == end)
  }
}
