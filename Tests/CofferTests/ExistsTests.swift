import Coffer
import CofferLocks
import Foundation
import Testing

/// Every API determines whether there is a value without reading it.
@Suite struct ExistsTests {
  /// An engine that counts the bytes of the values that are read through it.
  private final class MeteredEngine: EngineDecorator {
    let base: any StorageEngine = MemoryEngine()
    private let bytes = Locked(0)
    var bytesRead: Int { bytes.withLock { $0 } }

    func entry(_ key: StoreKey) async throws -> StoreEntry? { try await entries([key])[0] }

    func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
      let entries = try await base.entries(keys)
      bytes.withLock { $0 += entries.reduce(0) { $0 + ($1?.value.count ?? 0) } }
      return entries
    }

    func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
      throw StorageError(.unsupported, "Nothing is listed here.")
    }
  }

  private actor Adapter: EngineBacked {
    nonisolated let engine: any StorageEngine
    nonisolated let origin = StoreOrigin()
    init(_ engine: any StorageEngine) { self.engine = engine }
  }

  @Test func noDoorReadsTheValue() async throws {
    let engine = MeteredEngine()
    let (there, absent) = (StoreKey("large"), StoreKey("absent"))
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
}
