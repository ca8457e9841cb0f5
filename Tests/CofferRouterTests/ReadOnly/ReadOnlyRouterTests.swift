import CofferCallbacks
import CofferCore
import CofferPersistence
import CofferTestSupport
import CofferTesting
import CofferVault
import Foundation
import Testing

extension StorageKeys {
  fileprivate static let visitsKey: SettingKey<Int> = .visits
  fileprivate static let nameKey: TypedKey<String> = .name
}

/// A router that is open for reading only, and the doors over such stores.
@Suite(.timeLimit(.minutes(15))) struct ReadOnlyRouterTests {
  private let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private struct Catalog: StorageKeyCatalog {
    var name = "Inspected"
    var allKeys: [AnyStorageKey] = [
      .key(.theme), .key(.visits), .key(.name), .key(StorageKeys.recent), .key(Self.synced), .key(Self.count),
      .key(Self.mode),
    ]
    static let count = SettingKey("count", in: .database(), owner: "Tests", about: "A number.", default: 0)
    static let mode = SettingKey("mode", in: .userDefaults(), owner: "Tests", about: "A theme.", default: Theme.system)
    static let synced = plain("synced", in: .database(), sync: .manual)
  }

  private var readOnly: StorageConfiguration { configured { $0.access = .readOnly } }

  private func contents() throws -> DirectoryContents {
    try DirectoryContents(of: URL(fileURLWithPath: fixture.path("")))
  }

  // Requirement 5.6
  @Test("Stores that do not exist read as empty ones, and are not created; once they exist they are read")
  func missing() async throws {
    let before = try contents()
    try await fixture.use(readOnly) { router in
      try await router.registerCatalog(Catalog())
      #expect(try await router.get(.theme) == .system)
      #expect(try await router.get(.visits) == 0)
      #expect(try await router.get(StorageKeys.recent).isEmpty)
      #expect(try await !router.exists(.name))
      await expectError(.notFound) { _ = try await router.get(.name) }
      #expect(try await router.syncSnapshot().values.isEmpty)
      let report = await router.auditReport()
      #expect(report.entries.allSatisfy { if case .absent = $0.state { true } else { false } }, "\(report.entries)")
      let settings = try await router.settings(Catalog.mode, Catalog.count)
      #expect(try settings.get(Catalog.mode) == .system && settings[Catalog.count] == 0)
      for await state in try await router.availability(of: .theme) {
        #expect(state.isUsable)
        break
      }
      #expect(try contents().changes(since: before).isEmpty)
      // Another process creates the stores.
      try await fixture.use { other in
        try await other.set(.dark, for: .theme)
        try await other.set(3, for: .visits)
        try await other.set(["mugs"], for: StorageKeys.recent)
        try await other.set(.dark, for: Catalog.mode)
        try await other.set(3, for: Catalog.count)
      }
      #expect(try await router.get(.theme) == .dark)
      #expect(try await router.get(.visits) == 3)
      #expect(try await router.get(StorageKeys.recent) == ["mugs"])
      #expect(try settings.get(Catalog.mode) == .dark && settings.get(Catalog.count) == 3)
    }
  }

  // Requirement 5.6
  @Test("Reads, listings, the audit and the sync snapshot work, every write is refused, and no file changes")
  func existing() async throws {
    try await fixture.use { router in
      try await router.registerCatalog(Catalog())
      try await router.set(.dark, for: .theme)
      try await router.set(3, for: .visits)
      try await router.set("Ann", for: .name)
      try await router.set(["mugs"], for: StorageKeys.recent)
      try await router.set(7, for: Catalog.synced)
      try await router.set(.dark, for: Catalog.mode)
      try await router.set(3, for: Catalog.count)
    }
    let before = try contents()
    try await fixture.use(readOnly) { router in
      try await router.registerCatalog(Catalog())
      #expect(try await router.get(.theme) == .dark)
      #expect(try await router.get(.visits) == 3)
      #expect(try await router.state(of: [StorageKeys.visitsKey, StorageKeys.nameKey]).get(.name) == "Ann")
      #expect(try await router.syncSnapshot().values.count == 1)
      let report = await router.auditReport()
      #expect(report.entries.allSatisfy { if case .present = $0.state { true } else { false } }, "\(report.entries)")
      #expect(try await router.versioned(.visits).value == 3)
      #expect(try await router.transaction(in: .database()) { try await $0.get(.visits) } == 3)
      try await refusals(of: router)
      #expect(try await router.get(.theme) == .dark)
      #expect(try await router.get(.visits) == 3)
    }
    #expect(try contents().changes(since: before).isEmpty)
  }

  private func refusals(of router: StorageRouter) async throws {
    await expectError(.readOnly) { try await router.set(.light, for: .theme) }
    await expectError(.readOnly) { try await router.set(["cups"], for: StorageKeys.recent) }
    await expectError(.readOnly) { try await router.remove(.visits) }
    await expectError(.readOnly) { try await router.update(.visits) { $0 += 1 } }
    await expectError(.readOnly) { try await router.update(StorageKeys.recent) { $0.append("cups") } }
    await expectError(.readOnly) { try await router.setIfUnchanged(4, for: .visits, since: StoreRevision(1)) }
    await expectError(.readOnly) {
      try await router.batch {
        $0.set(1, for: .visits)
        $0.set("Bob", for: .name)
      }
    }
    await expectError(.readOnly) {
      try await router.transaction(in: .database()) { try await $0.set(9, for: .visits) }
    }
    await expectError(.readOnly) { try await router.setSyncPolicy(.never, for: Catalog.synced) }
    let cleared = try await router.clear(all: .values)
    #expect(cleared.removed.isEmpty && cleared.failures.count == 7, "\(cleared)")
    #expect(cleared.failures.allSatisfy { $0.code == .readOnly })
    let failures = Locked<[StorageError.Code]>([])
    let settings = try await router.settings(Catalog.mode, Catalog.count) { error in
      failures.withLock { $0.append(error.code) }
    }
    settings[Catalog.count] = 9
    settings[Catalog.mode] = .light
    await expectError(.readOnly) { try await settings.flush() }
    #expect(failures.withLock { $0 } == [.readOnly, .readOnly])
    #expect(settings[Catalog.count] == 3 && settings[Catalog.mode] == .dark)
  }

  // Requirement 5.6
  @Test("An edit of a stored property is reported as refused") @MainActor
  func storedProperty() async throws {
    try await fixture.use { try await $0.set(3, for: .visits) }
    try await fixture.use(readOnly) { router in
      @Stored<SettingKey<Int>>(.visits, in: router) var visits: Int
      visits = 9
      await expectError(.readOnly) { try await $visits.flush() }
    }
    #expect(try await fixture.use { try await $0.get(.visits) } == 3)
  }

  // Requirement 5.6
  @Test("Engines of the configuration and stores in memory are read-only, too")
  func engines() async throws {
    let engine = MemoryEngine()
    let key = plain("n", in: .engine("own"), default: 0)
    try await StorageRouter(configuration: configured { $0.engines["own"] = engine }).set(5, for: key)
    let configuration = configured {
      $0.engines["own"] = engine
      $0.access = .readOnly
    }
    let router = StorageRouter(configuration: configuration)
    #expect(try await router.get(key) == 5)
    await expectError(.readOnly) { try await router.set(6, for: key) }
    await expectError(.readOnly) { try await router.set(6, for: plain("m", default: 0)) }
    try await router.close()
  }

  // Requirement 5.6
  @Test("Every door reports the refusal with its own error")
  func doors() async throws {
    let engine = ReadOnlyEngine(MemoryEngine())
    let persistence = AdapterBasedPersistence(engine: engine)
    await expectError(.readOnly) { try await persistence.save(1, for: "n") }
    await expectError(.readOnly) { try await persistence.saveBatch([("n", 1), ("m", 2)]) }
    let store = TypedStore(engine: engine)
    await expectError(.readOnly) { try await store.saveIfUnchanged(1, for: "n", since: nil) }
    await expectError(.readOnly) { try await store.saveAll([(KeyName("n"), 1), (KeyName("m"), 2)]) }
    let vault = SwiftVault.service(over: engine)
    do {
      try await vault.saveData(Data(), forKey: "n", transactionID: UUID())
      Issue.record("saved")
    } catch SwiftVaultError.backendError(let reason, let error) {
      #expect(reason.contains("open for reading only") && (error as? StorageError)?.code == .readOnly)
    }
    await expectError(.readOnly) { try await EngineKeyValueStorage(engine: engine).store([], for: "n") }
  }
}
