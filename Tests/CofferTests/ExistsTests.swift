import CofferCallbacks
import CofferCore
import CofferPersistence
import CofferTestSupport
import CofferTestTraits
import CofferVault
import Foundation
import Testing

/// Every API determines whether there is a value without reading it.
@Suite struct ExistsTests {
  /// An engine that counts the bytes of the values that are read through it.
  private final class MeteredEngine: EngineDecorator {
    let base: any StorageEngine = MemoryEngine()
    private let bytes = Locked(0)
    var bytesRead: Int { bytes.withLock { $0 } }

    func entry(_ key: KeyName) async throws -> StoreEntry? { try await entries([key])[0] }

    func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
      let entries = try await base.entries(keys)
      count(entries)
      return entries
    }

    func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
      try await base.withSnapshot { try await body(MeteredSnapshot(base: $0, engine: self)) }
    }

    func count(_ entries: [StoreEntry?]) {
      bytes.withLock { $0 += entries.reduce(0) { $0 + ($1?.value.count ?? 0) } }
    }
  }

  private struct MeteredSnapshot: StorageSnapshot {
    let base: any StorageSnapshot
    let engine: MeteredEngine
    var revision: StoreRevision { base.revision }

    func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
      let entries = try await base.entries(keys)
      engine.count(entries)
      return entries
    }

    func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await base.summary(of: key) }

    func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
      let page = try await base.page(prefix: prefix, after: after, limit: limit)
      engine.count(page)
      return page
    }
  }

  private actor Adapter: EngineBacked {
    nonisolated let engine: any StorageEngine
    nonisolated let origin = StoreOrigin()
    init(_ engine: any StorageEngine) { self.engine = engine }
  }

  // Requirements 0.15, 1.8
  @Test func noDoorReadsTheValue() async throws {
    let engine = MeteredEngine()
    let (there, absent) = (KeyName("large"), KeyName("absent"))
    try await engine.commit(WriteBatch([.put(there, Data(count: 64 << 20))]), from: StoreOrigin())
    let store = TypedStore(engine: engine)
    #expect(try await store.exists(there))
    #expect(try await !store.exists(absent))
    #expect(try await store.exists("large"))
    let vault: any SwiftVaultService = SwiftVault.service(over: engine)
    #expect(await vault.exists(forKey: "large"))
    #expect(await !vault.exists(forKey: "absent"))
    let adapter: any StorageAdapter = Adapter(engine)
    #expect(await adapter.exists(key: "large"))
    #expect(await !adapter.exists(key: "absent"))
    for persistence in [AdapterBasedPersistence(adapter: adapter), AdapterBasedPersistence(engine: engine)] {
      #expect(await persistence.exists(key: "large"))
      #expect(await !persistence.exists(key: "absent"))
    }
    var configuration = StorageConfiguration()
    configuration.engines["e"] = engine
    let router = StorageRouter(configuration: configuration)
    func key(_ name: String) -> TypedKey<Data> { TypedKey(name, in: .engine("e"), owner: "Tests", about: "Bytes.") }
    #expect(try await router.exists(key("large")))
    #expect(try await !router.exists(key("absent")))
    #expect(engine.bytesRead == 0)
    #expect(try await store.load(Data.self, for: there)?.count == 64 << 20 && engine.bytesRead == 64 << 20)
  }

  /// An adapter whose `read` fails, so that only its `exists` can answer.
  private actor UnreadableAdapter: StorageAdapter {
    struct Unreadable: Error {}
    func read(key: String) async throws -> Data? { throw Unreadable() }
    func write(key: String, data: Data) async throws {}
    func delete(key: String) async throws {}
    func exists(key: String) async -> Bool { key == "there" }
  }

  // Requirement 1.8
  @Test func anAdapterIsAskedAndNotRead() async throws {
    let engine = AdapterEngine(UnreadableAdapter())
    let store = TypedStore(engine: engine)
    #expect(try await store.exists("there"))
    #expect(try await !store.exists("absent"))
    let vault = EngineVaultService(engine: engine)
    #expect(await vault.exists(forKey: "there"))
    #expect(await !vault.exists(forKey: "absent"))
    let persistence = AdapterBasedPersistence(adapter: UnreadableAdapter())
    #expect(await persistence.exists(key: "there"))
    #expect(await !persistence.exists(key: "absent"))
    try await engine.close()
    await #expect(throws: StorageError.self) { try await store.exists("there") }
  }

  // Requirement 1.8
  @Test func aTransactionDoesNotReadTheValueAndSeesItsOwnWrites() async throws {
    let engine = MeteredEngine()
    let store = TypedStore(engine: engine)
    try await store.save(Data(count: 1 << 20), for: "large")
    try await store.transaction { transaction in
      #expect(try await transaction.exists("large"))
      #expect(try await !transaction.exists("absent"))
      try transaction.delete("large")
      try transaction.save(1, for: "absent")
      #expect(try await !transaction.exists("large"))
      #expect(try await transaction.exists("absent"))
    }
    #expect(engine.bytesRead == 0)
    #expect(try await !store.exists("large"))
  }

  @Test func aKeyThatATransactionHasOnlyLookedForConflicts() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let attempts = Locked(0)
    try await store.transaction { transaction in
      let isFirst = attempts.withLock { attempts in
        attempts += 1
        return attempts == 1
      }
      let exists = try await transaction.exists("watched")
      if isFirst { try await store.save(1, for: "watched") }
      try transaction.save(exists, for: "result")
    }
    #expect(attempts.withLock { $0 } == 2)
    #expect(try await store.load(Bool.self, for: "result") == true)
  }

  /// Behind a damaged page of its value, which only a reader of the value finds.
  // Requirement 0.15
  @Test func aDatabaseDoesNotReadTheValue() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let first = try await SQLiteEngine.open(at: path)
    try await first.commit(
      WriteBatch([.put(KeyName("large"), Data(repeating: 0x5A, count: 1 << 20))]), from: StoreOrigin())
    try await first.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let middle = try #require(bytes.range(of: Data(repeating: 0x5A, count: 4_000), in: bytes.count / 2..<bytes.count))
    bytes[middle.lowerBound + 2_000] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))

    let engine = try await SQLiteEngine.open(at: path)
    let store = TypedStore(engine: engine)
    #expect(try await store.exists("large"))
    #expect(try await store.transaction { try await $0.exists("large") })
    await expectStorageError(.damaged) { _ = try await store.load(Data.self, for: "large") }
    try await engine.close()
  }

  // Requirement 1.8
  @Test func aCallbackStorageIsAsked() async throws {
    let storage = EngineKeyValueStorage(engine: MemoryEngine())
    try await storage.store([1], for: "there")
    let store = TypedStore(engine: AdapterEngine(KeyValueStorageAdapter(storage)))
    #expect(try await store.exists("there"))
    #expect(try await !store.exists("absent"))
    let failing = UnrulyStorage { [(nil, StorageError(.unavailable, "It is away."))] }
    #expect(await KeyValueStorageAdapter(failing).exists(key: "there"), "a failure does not prove absence")
  }
}
