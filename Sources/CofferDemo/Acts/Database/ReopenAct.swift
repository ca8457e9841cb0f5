import Coffer
import CofferCore

/// Reopens the store and compares every product with what was saved.
func reopenAct(_ stage: Stage) async throws {
  let items = stage.catalogue.items
  let start = monotonicNanoseconds()
  try await stage.withEngine { engine in
    let opened = seconds(since: start)
    // A new typed store has an empty cache, so every value is read from the file.
    // The cache keeps at least half of its capacity, which is therefore twice the number of products.
    let store = TypedStore(engine: engine, cache: CachePolicy(maximumCount: 2 * items.count + 2))
    var equal = 0
    let readStart = monotonicNanoseconds()
    for (index, item) in items.enumerated() {
      if try await store.load(Product.self, for: item.key) == item.product { equal += 1 }
      if index.isMultiple(of: 250) { stage.console.progress("read \(grouped(index)) of \(grouped(items.count))") }
    }
    let read = seconds(since: readStart)
    let cacheStart = monotonicNanoseconds()
    var inMemory = 0
    for item in items where store.cached(Product.self, for: item.key) != nil { inMemory += 1 }
    let cached = seconds(since: cacheStart)
    let stored = Locked((count: 0, bytes: 0))
    try await engine.forEachEntry(under: KeyName("product/")) { entry in
      stored.withLock { $0 = ($0.count + 1, $0.bytes + entry.value.count) }
    }
    let (count, bytes) = stored.withLock { $0 }

    let megabytes = decimals(Double(bytes) / 1e6, 1)
    stage.console.line("   Opened in \(duration(opened)); \(megabytes) MB of products in the store.")
    let each = Double(max(1, items.count))
    stage.console.table(
      ["", "products", "took", "each"],
      [
        ["from the file, decoded, compared", grouped(items.count), duration(read), duration(read / each)],
        ["once more, from memory", grouped(inMemory), duration(cached), duration(cached / each)],
      ])
    stage.summary.readBack = equal
    stage.check(equal == items.count, "products read exactly as they were saved", count: equal)
    stage.check(count == items.count, "products in the store, none more and none less", count: count)
  }
}
