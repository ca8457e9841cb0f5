import CofferCore
import CofferTesting
import Foundation
import Testing

@testable import Coffer

/// The limits of the cache, and the ways to empty it.
@Suite(.timeLimit(.minutes(5))) struct CachePolicyTests {
  let memory = MemoryEngine()

  // Requirement 1.35
  @Test func theCountersAreExact() async throws {
    let store = TypedStore(engine: memory, cache: CachePolicy(maximumCount: 4))
    #expect(store.cacheStatistics == statistics())
    for index in 0..<4 { try await store.save("12345", for: "k\(index)") }
    #expect(store.cacheStatistics == statistics(bytes: 20, count: 4))
    #expect(store.cached(String.self, for: "k3") == "12345")
    #expect(store.cached(String.self, for: "absent") == nil)
    #expect(try await store.load(String.self, for: "absent") == nil)
    #expect(store.cacheStatistics == statistics(hits: 1, misses: 2, bytes: 20, count: 4))
    // The older two are dropped together.
    try await store.save("123", for: "k4")
    #expect(store.cacheStatistics == statistics(hits: 1, misses: 2, evictions: 2, bytes: 13, count: 3))
    try await store.save("1", for: "k4")
    #expect(store.cacheStatistics == statistics(hits: 1, misses: 2, evictions: 2, bytes: 11, count: 3))
    try await store.delete("k4")
    #expect(store.cacheStatistics == statistics(hits: 1, misses: 2, evictions: 2, bytes: 10, count: 2))
    store.dropCache()
    #expect(store.cacheStatistics == statistics(hits: 1, misses: 2, evictions: 2))
    #expect(TypedStore(engine: memory, cache: CachePolicy(maximumBytes: 0)).cacheStatistics == statistics())
  }

  /// Random operations with a fixed seed: the bound holds after each, and the counters equal what can be counted.
  // Requirement 1.35
  @Test func theBoundOfBytesIsNeverExceeded() async throws {
    var random = SeededGenerator(seed: 19)
    let limit = 1_000
    let store = TypedStore(engine: memory, cache: CachePolicy(maximumCount: 40, maximumBytes: limit))
    let other = TypedStore(engine: memory)
    var sizes: [String: Int] = [:]
    for _ in 0..<5_000 {
      let key = "p\(Int.random(in: 0..<3, using: &random))/k\(Int.random(in: 0..<20, using: &random))"
      let value = String(repeating: "x", count: Int.random(in: 0..<700, using: &random))
      switch Int.random(in: 0..<8, using: &random) {
      case 0: try await other.save(value, for: key)
      case 1: try await store.delete(key)
      case 2: store.dropCache(of: try KeyName(key))
      case 3: store.dropCache(prefix: "p1/")
      case 4...5: try await store.save(value, for: key)
      default: sizes[key] = try await store.load(String.self, for: key)?.utf8.count
      }
      let now = store.cacheStatistics
      #expect(now.bytes <= limit && now.count <= 40 && now.bytes >= 0 && now.count >= 0)
    }
    var (bytes, count) = (0, 0)
    for prefix in 0..<3 {
      for index in 0..<20 {
        guard let value = store.cached(String.self, for: "p\(prefix)/k\(index)") else { continue }
        (bytes, count) = (bytes + value.utf8.count, count + 1)
      }
    }
    #expect(store.cacheStatistics.bytes == bytes && store.cacheStatistics.count == count)
    #expect(store.cacheStatistics.evictions > 0 && count > 0)
  }

  @Test func aValueThatIsTooLargeIsNotCachedAndReplacesTheCachedOne() async throws {
    let store = TypedStore(engine: memory, cache: CachePolicy(maximumBytes: 100))
    try await store.save("small", for: "k")
    #expect(store.cached(String.self, for: "k") == "small")
    let large = String(repeating: "x", count: 51)
    try await store.save(large, for: "k")
    #expect(store.cached(String.self, for: "k") == nil)
    #expect(try await store.load(String.self, for: "k") == large)
  }

  // Requirement 1.35
  @Test func theCostIsWhatThePolicySays() async throws {
    let policy = CachePolicy(maximumBytes: 100, cost: { key, size in key.string == "free" ? 0 : size * 10 })
    let store = TypedStore(engine: memory, cache: policy)
    try await store.save("1234", for: "free")
    #expect(store.cacheStatistics.bytes == 0)
    try await store.save("1234", for: "a")
    #expect(store.cacheStatistics.bytes == 40)
    try await store.save("123456", for: "b")  // costs more than half
    #expect(store.cached(String.self, for: "b") == nil)
    #expect(store.cacheStatistics.count == 2)
  }

  // Requirement 1.34
  @Test func aValueIsDroppedAfterItsTime() async throws {
    let clock = SettableClock()
    let probe = ProbeEngine(MemoryEngine(clock: clock.storeClock), clock: clock.storeClock)
    let store = TypedStore(engine: probe, cache: CachePolicy(timeToLive: 10))
    try await store.save("v", for: "k")
    clock.advance(by: 9)
    #expect(store.cached(String.self, for: "k") == "v")
    #expect(probe.reads == 0)
    clock.advance(by: 1)
    #expect(store.cached(String.self, for: "k") == nil)
    #expect(store.cacheStatistics.count == 0)
    #expect(try await store.load(String.self, for: "k") == "v")
    #expect(probe.reads == 1)
    clock.advance(by: -1)  // The clock was set back: the age of the value is unknown.
    #expect(store.cached(String.self, for: "k") == nil)
  }

  // Requirement 1.34
  @Test func cachedValuesAreDroppedByHand() async throws {
    let store = TypedStore(engine: memory)
    for key in ["a/1", "a/2", "b/1"] { try await store.save(1, for: key) }
    store.dropCache(of: "a/1")
    #expect(store.cached(Int.self, for: "a/1") == nil)
    #expect(store.cached(Int.self, for: "a/2") == 1)
    store.dropCache(prefix: "a/")
    #expect(store.cached(Int.self, for: "a/2") == nil)
    #expect(store.cached(Int.self, for: "b/1") == 1)
    #expect(try await store.loadAll(Int.self, keys: ["a/1", "a/2", "b/1"] as [KeyName]) == [1, 1, 1])
  }

  private func statistics(
    hits: Int = 0, misses: Int = 0, evictions: Int = 0, bytes: Int = 0, count: Int = 0
  ) -> CachePolicy.Statistics {
    CachePolicy.Statistics(hits: hits, misses: misses, evictions: evictions, bytes: bytes, count: count)
  }
}
