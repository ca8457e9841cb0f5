import Coffer
import CofferCore
import CofferTesting
import Foundation
import Testing

/// A typed store over decorated engines.
struct DecoratedStoreTests {
  /// An engine whose latest revision does not include commits of other processes immediately.
  private struct Delayed: EngineDecorator {
    let base: any StorageEngine
    var capabilities: StoreCapabilities {
      StoreCapabilities(
        base.capabilities.features.subtracting(.immediateRevisions),
        maximumValueSize: base.capabilities.maximumValueSize)
    }
  }

  @Test func valuesPassThrough() async throws {
    let engine = FaultInjectingEngine(FaultInjectingEngine(MemoryEngine()))
    let store = TypedStore(engine: engine)
    try await store.save(["a": 1], for: "k")
    #expect(try await store.load([String: Int].self, for: "k") == ["a": 1])
    #expect(try await store.exists("k"))
    #expect(try await !store.exists("other"))
    #expect(try await store.update([String: Int].self, for: "k") { ["b": ($0?["a"] ?? 0) + 1] } == ["b": 2])
    #expect(engine.as(MemoryEngine.self) != nil && engine.as(SQLiteEngine.self) == nil)
  }

  @Test func nothingIsKeptInMemoryWhereOthersMayHaveBeenFirst() async throws {
    let counting = FaultInjectingEngine(MemoryEngine())
    let store = TypedStore(engine: Delayed(base: counting))
    try await store.save(1, for: "k")
    for read in 1...3 {
      #expect(try await store.load(Int.self, for: "k") == 1)
      #expect(counting.count(of: .read) == read)
    }
    #expect(store.cached(Int.self, for: KeyName("k")) == nil)
    let cached = TypedStore(engine: counting)
    try await cached.save(2, for: "k")
    #expect(cached.cached(Int.self, for: KeyName("k")) == 2)
  }
}
