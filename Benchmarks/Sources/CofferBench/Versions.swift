import Coffer
import Foundation

private struct Price1: Codable, Sendable {
  var product: String
  var amount: String
}

private struct Price2: Codable, Sendable {
  var product: String
  var cents: Int
}

private struct Price: Codable, Sendable {
  var product: String
  var cents: Int
  var currency: String
}

private func cents(_ old: Price1) -> Price2 { Price2(product: old.product, cents: (Int(old.amount) ?? 0) * 100) }
private func inDollars(_ old: Price2) -> Price { Price(product: old.product, cents: old.cents, currency: "USD") }

private func prices() throws -> StoreSchema {
  var schema = StoreSchema()
  let steps = [
    MigrationStep(from: 1, to: 2) { (old: Price1) in cents(old) },
    MigrationStep(from: 2, to: 3) { (old: Price2) in inDollars(old) },
  ]
  try schema.declare(prefix: "app.", ValueSchema<Price>("price", version: 3, steps: steps))
  return schema
}

/// Measures reads of values that need no migration, and the migration of many values through two steps.
func measureVersions(_ bench: inout Bench, _ directory: URL) async throws {
  try await measureVersionedGets(&bench, directory)
  try await measureMigrations(&bench, directory)
}

private func measureVersionedGets(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000)
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("versions.db").path)
  let items = values.keys.enumerated().map { ($1, Price(product: "product \($0)", cents: $0, currency: "USD")) }
  try await TypedStore(engine: engine, schema: prices()).saveAll(items)
  for (operation, capacity, count, added) in [
    ("versions.get.cached", 10_000, 100_000, 0.1), ("versions.get.uncached", 0, 20_000, 0.5),
  ] {
    func gets(_ store: TypedStore) -> (Int, Int) async throws -> [Double] {
      { first, count in
        try await grouped(first, count, by: 100) { index in
          let slot = values.slot(index)
          let price = try await store.load(Price.self, for: values.keys[slot])
          precondition(price?.cents == slot)
        }
      }
    }
    let limit = Limit(subject: "unversioned", maximumAddedMicroseconds: added)
    try await bench.measure(
      operation, count: count,
      [
        Variant(
          subject: "unversioned", run: gets(TypedStore(engine: engine, cache: CachePolicy(maximumCount: capacity)))),
        Variant(
          subject: "versioned", limit: limit,
          run: gets(try TypedStore(engine: engine, schema: prices(), cache: CachePolicy(maximumCount: capacity)))),
      ])
  }
  try await engine.close()
}

private func measureMigrations(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 100_000)
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("migrated.db").path)
  let plain = TypedStore(engine: engine, cache: CachePolicy(maximumCount: 0))
  let store = try TypedStore(engine: engine, schema: prices(), cache: CachePolicy(maximumCount: 0))
  let older = values.keys.enumerated().map { ($1, Price1(product: "product \($0)", amount: "\($0)")) }
  /// Stores the values of the first version anew, which is not measured, and returns the time of `body` per value.
  func timed(_ body: () async throws -> Void) async throws -> [Double] {
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
    for start in stride(from: 0, to: older.count, by: 1_000) {
      try await plain.saveAll(Array(older[start..<(start + 1_000)]), durability: .relaxed)
    }
    let start = ContinuousClock.now
    try await body()
    let time = ContinuousClock.now - start
    return [time / .seconds(1) / Double(values.count)]
  }
  try await bench.measure(
    "versions.migrate", rounds: 2, count: values.count,
    [
      Variant(subject: "by hand") { _, _ in
        try await timed {
          for start in stride(from: 0, to: values.count, by: 100) {
            let keys = Array(values.keys[start..<(start + 100)])
            let found = try await plain.loadAll(Price1.self, keys: keys)
            let new = zip(keys, found).map { ($0, $1.map { inDollars(cents($0)) }) }
            try await plain.saveAll(new.compactMap { key, price in price.map { (key, $0) } })
          }
        }
      },
      Variant(subject: "coffer.sqlite", limit: Limit(subject: "by hand", maximumRatio: 2)) { _, _ in
        try await timed { try await store.migrate().requireComplete() }
      },
    ])
  try await engine.close()
}
