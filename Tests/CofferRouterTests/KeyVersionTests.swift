import CofferRouter
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

private struct Style1: Codable, Hashable, Sendable { var name: String }
private struct Style2: Codable, Hashable, Sendable {
  var name: String
  var size: Int
}
private struct Style3: Codable, Hashable, Sendable {
  var title: String
  var sizes: [Int]
}

private let first = MigrationStep(from: 1, to: 2) { (old: Style1) in Style2(name: old.name, size: 12) }
private let second = MigrationStep(from: 2, to: 3) { (old: Style2) in Style3(title: old.name, sizes: [old.size]) }

/// A key in one version of an application.
private func key<Value: Codable>(
  _ version: Int, _ type: Value.Type, _ steps: [MigrationStep] = [], as serializer: Serializer<Value> = .json,
  in domain: StorageDomain = .engine("e"), security: SecurityPolicy? = nil
) -> TypedKey<Value> {
  TypedKey<Value>("style", in: domain, owner: "Tests", about: "For a test.", as: serializer, security: security)
    .versioned(by: try ValueSchema("style", version: version, steps: steps))
}

private func family<Value: Codable>(
  _ version: Int, _ type: Value.Type, _ steps: [MigrationStep] = []
) -> KeyFamily<Int, Value> {
  KeyFamily<Int, Value>("styles", in: .engine("e"), owner: "Tests", about: "For a test.")
    .versioned(by: try ValueSchema("style", version: version, steps: steps))
}

private struct Catalog: StorageKeyCatalog {
  let allKeys: [AnyStorageKey]
}

/// The versions of keys' values: each router is another version of an application over the same engine.
@Suite(.timeLimit(.minutes(5))) struct KeyVersionTests {
  private let engine = MemoryEngine()
  private let key1 = key(1, Style1.self)
  private let key2 = key(2, Style2.self, [first])
  private let key3 = key(3, Style3.self, [first, second])
  private let new = Style3(title: "a", sizes: [12])

  private func router(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
    StorageRouter(
      configuration: configured {
        $0.engines = ["e": engine]
        change(&$0)
      })
  }

  /// Returns a router of version 3 over a value of version 1.
  private func migrating() async throws -> StorageRouter {
    try await router().remove(key3)  // An older version refuses to replace a newer value.
    try await router().set(Style1(name: "a"), for: key1)
    return router()
  }

  // Requirements 1.27, 1.68
  @Test("Every way of reading migrates an older value, once")
  func reads() async throws {
    #expect(try await migrating().get(key3) == new)
    #expect(try await migrating().update(key3) { $0.sizes.append(1) }.sizes == [12, 1])
    #expect(try await migrating().versioned(key3).value == new)
    #expect(try await migrating().state(of: [key3]).get(key3) == new)
    let inTransaction = try await migrating().transaction(in: .engine("e")) { [key3] in try await $0.get(key3) }
    #expect(inTransaction == new)
    for await value in try await migrating().values(of: key3) {
      #expect(try value.get() == new)
      break
    }
    let router = try await migrating()
    #expect(router.cached(key3) == nil)
    _ = try await router.get(key3)
    #expect(router.cached(key3) == new)
    let revision = engine.latestRevision
    #expect(try await self.router().get(key3) == new)
    #expect(engine.latestRevision == revision)
  }

  @Test("A value without a mark, stored before the key had versions, has version 1")
  func unversioned() async throws {
    let plain = TypedKey<Style1>("style", in: .engine("e"), owner: "Tests", about: "For a test.")
    try await router().set(Style1(name: "a"), for: plain)
    #expect(try await router().get(key3) == new)
  }

  // Requirement 1.29
  @Test("A step back reads a newer value, and stores it in the older version")
  func back() async throws {
    let router = try await migrating()
    _ = try await router.get(key3)
    let value = Style2(name: "a", size: 12)
    let back = MigrationStep(from: 3, to: 2) { (new: Style3) in
      Style2(name: new.title, size: new.sizes.first ?? 0)
    }
    #expect(try await self.router().get(key(2, Style2.self, [first, back])) == value)
    #expect(try await self.router().get(key2) == value)
    #expect(try await self.router().get(key3) == new)
  }

  @Test("The previous version reads and overwrites nothing newer")
  func previous() async throws {
    let router = try await migrating()
    let old = self.router()
    _ = try await router.get(key3)
    let value = Style1(name: "a")
    for access in [
      { try await old.get(key1) }, { try await old.versioned(key1) }, { try await old.state(of: [key1]) },
      { try await old.transaction(in: .engine("e")) { [key1] in try await $0.get(key1) } },
      { try await old.set(value, for: key1) },
      { try await old.batch { [key1] in $0.set(value, for: key1) } },
      { try await old.transaction(in: .engine("e")) { [key1] in try await $0.set(value, for: key1) } },
      { try await old.setIfUnchanged(value, for: key1, since: engine.entry("style")?.revision) },
    ] as [() async throws -> Any] {
      await expectError(.newerFormat) { _ = try await access() }
    }
    #expect(try await router.get(key3) == new)
  }

  @Test("Settings have versions")
  func settings() async throws {
    let old = SettingKey<Style1>(
      "style", in: .engine("e"), owner: "Tests", about: "For a test.", default: Style1(name: "none")
    ).versioned(by: try ValueSchema("style", version: 1))
    let present = SettingKey<Style2>(
      "style", in: .engine("e"), owner: "Tests", about: "For a test.", default: Style2(name: "none", size: 0)
    ).versioned(by: try ValueSchema("style", version: 2, steps: [first]))
    let before = try await router().settings(old)
    before[old] = Style1(name: "a")
    let after = try await router().settings(present)
    #expect(after[present] == Style2(name: "a", size: 12))
    before[old] = Style1(name: "b")
    await expectError(.newerFormat) { try await before.flush() }
    after[present].size = 7
    try await after.flush()
    #expect(try await router().get(present) == Style2(name: "a", size: 7))
    let back = MigrationStep(from: 2, to: 1) { (new: Style2) in Style1(name: new.name) }
    let withdrawn = SettingKey<Style1>(
      "style", in: .engine("e"), owner: "Tests", about: "For a test.", default: Style1(name: "none")
    ).versioned(by: try ValueSchema("style", version: 1, steps: [back]))
    #expect(try await router().settings(withdrawn)[withdrawn] == Style1(name: "a"))
  }

  // Requirement 1.26
  @Test("Observed values have versions") @MainActor
  func stored() async throws {
    let router = try await migrating()
    let value = StoredValue(key3, in: router, initially: Style3(title: "", sizes: []))
    #expect(try await value.load() == new)
    value.value.sizes = [5]
    try await value.flush()
    #expect(try await self.router().get(key3).sizes == [5])
    let mark = try await engine.summary(of: "style").flatMap { try SchemaMark(in: $0.attributes) }
    #expect(mark?.version == 3 && mark?.name == "style")
  }

  // Requirement 1.26
  @Test("The members of a family have versions")
  func families() async throws {
    let (old, present) = (family(1, Style1.self), family(2, Style2.self, [first]))
    let before = router()
    for id in 1...3 { try await before.set(Style1(name: "\(id)"), for: old[id]) }
    let after = router()
    #expect(try await after.get(present[2]) == Style2(name: "2", size: 12))
    var names: [String] = []
    for try await (_, value) in try await after.all(of: present, pageSize: 2) { names.append(value.name) }
    #expect(names == ["1", "2", "3"])
    #expect(try await after.ids(of: present) == [1, 2, 3])
    await expectError(.newerFormat) { for try await _ in try await before.all(of: old) {} }
    let back = MigrationStep(from: 2, to: 1) { (new: Style2) in Style1(name: new.name) }
    let withdrawn = router()
    for try await (id, value) in try await withdrawn.all(of: family(1, Style1.self, [back]), pageSize: 2) {
      #expect(value == Style1(name: "\(id)"))
    }
    #expect(try await after.forceMigration(for: present[1]).migratedCount == 1)
    #expect(try await before.get(old[3]) == Style1(name: "3"))
  }

  // Requirement 1.27
  @Test("Values are brought forward at the registration, by force and all together; the audit has their versions")
  func forward() async throws {
    let catalog = Catalog(allKeys: [.key(key3), .family(family(2, Style2.self, [first]))])
    let old = router()
    try await old.set(Style1(name: "a"), for: key1)
    for id in 1...2 { try await old.set(Style1(name: "b"), for: family(1, Style1.self)[id]) }
    let router = router()
    try await router.registerCatalog(catalog)
    var report = await router.auditReport()
    #expect(report.entries.map(\.versions) == [[1: 1], [1: 2]] && report.entries.map(\.key.version) == [3, 2])
    #expect(String(decoding: report.html, as: UTF8.self).contains("stored: 2 of version 1"))
    let migrated = try await router.migrateRegisteredKeys().result()
    #expect(migrated.isComplete && migrated.migrated.count == 2)
    report = await router.auditReport()
    #expect(report.entries.map(\.versions) == [[3: 1], [2: 2]])
    #expect(report.undeclared.isEmpty)
    try await router.remove(key3)
    try await self.router().set(Style1(name: "a"), for: key1)
    #expect(try await router.forceMigration(for: key3).migratedCount == 1)
    try await router.remove(key3)
    try await self.router().set(Style1(name: "a"), for: key1)
    try await self.router().registerCatalog(catalog, migrateImmediately: true)
    #expect(await router.auditReport().entries[0].versions == [3: 1])
  }

  // Requirement 1.27
  @Test("An older key is read, then stepped")
  func olderKey() async throws {
    let oldKey = TypedKey<Style1>("old", in: .engine("e"), owner: "Tests", about: "For a test.")
    try await router().set(Style1(name: "a"), for: oldKey)
    let older = TypedKey<Style3>("old", in: .engine("e"), owner: "Tests", about: "For a test.")
      .versioned(by: try ValueSchema("style", version: 3, steps: [first, second]))
    let moved = key3.migrating {
      AnyStorageMigration(from: older, to: $0)
    }
    let router = router()
    #expect(try await router.get(moved) == new)
    #expect(try await engine.summaries().map(\.key) == ["style"])
    let mark = try await engine.summary(of: "style").flatMap { try SchemaMark(in: $0.attributes) }
    #expect(mark?.version == 3)
  }

  @Test("A declaration with a gap, or two with different versions, are refused before anything is read")
  func declarations() async throws {
    let gap = key(3, Style3.self, [first])
    await expectError(.invalidSchema) { _ = try await router().get(gap) }
    await expectError(.invalidSchema) { try await router().registerCatalog(Catalog(allKeys: [.key(gap)])) }
    let used = router()
    _ = try await used.exists(key3)
    await expectError(.duplicateKey) {
      _ = try await used.get(key(4, Style3.self, [MigrationStep(from: 3, to: 4) { (old: Style3) in old }]))
    }
    let custom = Serializer<Style2>.custom(name: "own") {
      Data($0.name.utf8)
    } decode: {
      Style2(name: String(decoding: $0, as: UTF8.self), size: 0)
    }
    await expectError(.invalidSchema, "Data") {
      _ = try await self.router().get(key(2, Style2.self, [first], as: custom))
    }
    let text = MigrationStep(from: 1, to: 2) { (old: Data) in Style2(name: "\(old.count)", size: 0) }
    try await engine.commit(WriteBatch([.put("style", Data("abc".utf8))]), from: StoreOrigin())
    #expect(try await self.router().get(key(2, Style2.self, [text], as: custom)).name == "3")
    let adapter = StorageRouter(
      configuration: configured { $0.engines = ["e": AdapterEngine(MemoryAdapter())] })
    await expectError(.unsupported) { _ = try await adapter.get(key3) }
  }

  @Test("A failing step leaves the value and the other keys")
  func failures() async throws {
    struct Refusal: Error {}
    try await router().set(Style1(name: "a"), for: key1)
    let failing = key(
      3, Style3.self, [first, MigrationStep(from: 2, to: 3) { (_: Style2) throws -> Style3 in throw Refusal() }])
    let other = TypedKey<Int>("other", in: .engine("e"), owner: "Tests", about: "For a test.")
    let router = router()
    await expectError(.migrationFailed) { _ = try await router.get(failing) }
    await expectError(.migrationFailed) { _ = try await router.forceMigration(for: failing) }
    try await router.set(1, for: other)
    #expect(try await self.router().get(key1) == Style1(name: "a"))
  }

  @Test("An encrypted value is migrated as one, and each serializer reads its older values")
  func encryptedFiles() async throws {
    let fixture = try RouterFixture()
    let settings = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
    for name in ["JSON", "property list"] {
      let file = URL(fileURLWithPath: fixture.path("\(name).db"))
      let (old, present): (Serializer<Style1>, Serializer<Style3>) =
        name == "JSON" ? (.json, .json) : (.propertyList, .propertyList)
      let policy = SecurityPolicy.encrypted(.aes256)
      try await fixture.use(settings) { router in
        let older = key(1, Style1.self, as: old, in: .database(file), security: policy)
        try await router.set(Style1(name: "visible-secret"), for: older)
      }
      let newer = key(3, Style3.self, [first, second], as: present, in: .database(file), security: policy)
      let title = try await fixture.use(settings) { try await $0.get(newer).title }
      #expect(title == "visible-secret")
      for suffix in ["", "-wal"] {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: file.path + suffix))) ?? Data()
        #expect(bytes.range(of: Data("visible-secret".utf8)) == nil)
      }
    }
  }

  @Test("Preferences keep the property list types of older and newer values")
  func preferences() async throws {
    let fixture = try RouterFixture()
    let domain = StorageDomain.userDefaults(suite: "com.example.versions")
    let step = MigrationStep(from: 1, to: 2) { (old: String) in Int(old) ?? 0 }
    try await fixture.use { try await $0.set("41", for: key(1, String.self, in: domain)) }
    let number = key(2, Int.self, [step], in: domain)
    let migrated = try await fixture.use { try await $0.get(number) }
    #expect(migrated == 41)
    let back = MigrationStep(from: 2, to: 1) { (new: Int) in "\(new)" }
    let text = try await fixture.use { try await $0.get(key(1, String.self, [back], in: domain)) }
    #expect(text == "41")
  }
}
