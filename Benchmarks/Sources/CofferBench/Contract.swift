import Coffer
import CofferCore
import Foundation

/// A decorator that forwards every call.
private struct Nothing: EngineDecorator {
  let base: any StorageEngine
}

/// Measures the cost of attributes, decorators and summaries.
func measureContract(_ bench: inout Bench, _ directory: URL) async throws {
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("contract.db").path)
  try await measureAttributes(&bench, engine)
  try await measureDecorators(&bench)
  try await measureContains(&bench, engine)
  try await engine.close()
}

private func measureAttributes(_ bench: inout Bench, _ engine: SQLiteEngine) async throws {
  let (values, origin) = (try Values(count: 1_000), StoreOrigin())
  var attributes = ValueAttributes()
  attributes[ValueAttribute<UInt64>(applicationCode: 128)] = 7
  func put(_ attributes: ValueAttributes) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 50) { index in
        let operation = WriteBatch.Operation.put(
          values.keys[values.slot(index)], Data(Values.bytes(index)), attributes)
        try await engine.commit(WriteBatch([operation], durability: .relaxed), from: origin)
      }
    }
  }
  try await bench.measure(
    "contract.put.attributes", count: 5_000,
    [
      Variant(subject: "without", run: put(.none)),
      Variant(subject: "with", limit: Limit(subject: "without", maximumRatio: 1.05), run: put(attributes)),
    ])
}

private func measureDecorators(_ bench: inout Bench) async throws {
  let base = MemoryEngine()
  let decorated = Nothing(base: base)
  let (key, origin) = (KeyName("bench"), StoreOrigin())
  try await base.commit(WriteBatch([.put(key, Data(Values.bytes(0)))]), from: origin)
  func get(_ engine: any StorageEngine) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 100) { _ in
        let entry = try await engine.entry(key)
        precondition(entry != nil)
      }
    }
  }
  func put(_ engine: any StorageEngine) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 100) { index in
        try await engine.commit(WriteBatch([.put(key, Data(Values.bytes(index)))]), from: origin)
      }
    }
  }
  try await bench.measure(
    "contract.decorator.get", count: 50_000,
    [
      Variant(subject: "engine", run: get(base)),
      Variant(
        subject: "decorated", limit: Limit(subject: "engine", maximumAddedMicroseconds: 0.15), run: get(decorated)),
    ])
  try await bench.measure(
    "contract.decorator.put", count: 20_000,
    [
      Variant(subject: "engine", run: put(base)),
      Variant(
        subject: "decorated", limit: Limit(subject: "engine", maximumAddedMicroseconds: 0.3), run: put(decorated)),
    ])
}

private func measureContains(_ bench: inout Bench, _ engine: SQLiteEngine) async throws {
  let (small, large, origin) = (KeyName("small"), KeyName("large"), StoreOrigin())
  try await engine.commit(WriteBatch([.put(small, Data(count: 64))]), from: origin)
  try await engine.commit(WriteBatch([.put(large, Data(repeating: 7, count: 64 << 20))]), from: origin)
  func contains(_ key: KeyName) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await grouped(first, count, by: 50) { _ in
        let isThere = try await engine.contains(key)
        precondition(isThere)
      }
    }
  }
  try await bench.measure(
    "contract.contains", count: 2_000,
    [
      Variant(subject: "64 bytes", run: contains(small)),
      Variant(subject: "64 MiB", limit: Limit(subject: "64 bytes", maximumRatio: 2), run: contains(large)),
    ])
}
