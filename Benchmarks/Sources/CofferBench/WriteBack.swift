import Coffer
import Foundation

/// Measures saves that return from memory, and reads of a cache with all of its limits.
func measureWriteBack(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000)
  let bytes = (0..<values.count).map { Data(Values.bytes($0)) }
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("writeback.db").path)
  let store = TypedStore(
    engine: engine, cache: CachePolicy(maximumBytes: 8 << 20),
    writePolicy: .back(maximumPendingBytes: 64 << 20))
  try await bench.measure(
    "writeback.put", count: 100_000,
    [
      Variant(subject: "coffer.sqlite", limit: Limit(maximumMicroseconds: 0.6)) { first, count in
        try await grouped(first, count, by: 1_000) { index in
          let slot = index % values.count
          try await store.save(bytes[slot], for: values.keys[slot])
        }
      }
    ])
  try await store.flush()
  try await bench.measure(
    "cache.get", count: 100_000,
    [
      Variant(subject: "coffer.sqlite", limit: Limit(maximumMicroseconds: 0.3)) { first, count in
        await grouped(first, count, by: 1_000) { index in
          precondition(store.cached(Data.self, for: values.keys[index % values.count])?.count == 256)
        }
      }
    ])
  try await store.close()
}
