import CofferRouter
import Foundation

extension StorageKeys {
  static let bench = TypedKey<Data>("bench", in: .engine("bench"), owner: "Bench", about: "A value.", as: .data)
}

extension StorageKeys {
  static let counter = SettingKey<Int>(
    "counter", in: .engine("bench"), owner: "Bench", about: "A number.", default: 0)
}

extension StorageKey where Self == SettingKey<Int> {
  /// A key that each use creates again, as most keys are declared.
  fileprivate static var counter: Self {
    SettingKey("counter", in: .engine("bench"), owner: "Bench", about: "A number.", default: 0)
  }
}

private struct BenchCatalog: StorageKeyCatalog {
  let allKeys: [AnyStorageKey] = [.key(StorageKeys.bench), .key(.counter)]
}

/// Measures the overhead of a router over its engine, which is in memory so that nothing else is measured.
func measureRouter(_ bench: inout Bench) async throws {
  let engine = MemoryEngine(name: "bench")
  func router(cacheCapacity: Int) async throws -> StorageRouter {
    var configuration = StorageConfiguration()
    configuration.engines["bench"] = engine
    configuration.cachePolicy.maximumCount = cacheCapacity
    let router = StorageRouter(configuration: configuration)
    try await router.registerCatalog(BenchCatalog())
    return router
  }
  let (uncached, cached) = (try await router(cacheCapacity: 0), try await router(cacheCapacity: 100))
  // A key that is created once is recognized by identity; this router uses one created on each use.
  let anew = try await router(cacheCapacity: 100)
  let (key, origin) = (KeyName("bench"), StoreOrigin())
  try await uncached.set(Data(Values.bytes(0)), for: StorageKeys.bench)
  try await cached.set(1, for: StorageKeys.counter)
  try await anew.set(1, for: .counter)
  func added(_ maximum: Double, accepted: Double) -> Limit {
    Limit(subject: "engine", maximumAddedMicroseconds: maximum, accepted: accepted, isProcessorTime: true)
  }
  try await bench.measure(
    "router.get", count: 50_000,
    [
      Variant(subject: "engine") { first, count in
        try await grouped(first, count, by: 100) { _ in
          let entry = try await engine.entry(key)
          precondition(entry?.value.count == 256)
        }
      },
      Variant(subject: "coffer.router", limit: added(0.1, accepted: 0.25)) { first, count in
        try await grouped(first, count, by: 100) { _ in
          let value = try await uncached.get(StorageKeys.bench)
          precondition(value.count == 256)
        }
      },
    ])
  try await bench.measure(
    "router.put", count: 20_000,
    [
      Variant(subject: "engine") { first, count in
        try await grouped(first, count, by: 100) { index in
          try await engine.commit(WriteBatch([.put(key, Data(Values.bytes(index)))]), from: origin)
        }
      },
      Variant(subject: "coffer.router", limit: added(0.25, accepted: 0.45)) { first, count in
        try await grouped(first, count, by: 100) { index in
          try await uncached.set(Data(Values.bytes(index)), for: StorageKeys.bench)
        }
      },
    ])
  // The preceding commits have invalidated both caches.
  _ = (try await cached.get(StorageKeys.counter), try await anew.get(.counter))
  try await bench.measure(
    "router.cached", count: 100_000,
    [
      Variant(subject: "coffer.sync", limit: Limit(maximumMicroseconds: 0.08, accepted: 0.12, isProcessorTime: true)) {
        first, count in
        await grouped(first, count, by: 1_000) { _ in precondition(cached.cached(StorageKeys.counter) == 1) }
      },
      Variant(subject: "coffer.sync.new") { first, count in
        await grouped(first, count, by: 1_000) { _ in precondition(anew.cached(.counter) == 1) }
      },
      Variant(subject: "coffer.await", limit: Limit(maximumMicroseconds: 0.12, isProcessorTime: true)) { first, count in
        try await grouped(first, count, by: 1_000) { _ in
          let value = try await cached.get(StorageKeys.counter)
          precondition(value == 1)
        }
      },
      Variant(subject: "coffer.await.new") { first, count in
        try await grouped(first, count, by: 1_000) { _ in
          let value = try await anew.get(.counter)
          precondition(value == 1)
        }
      },
    ])
}
