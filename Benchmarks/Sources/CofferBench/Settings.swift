import CofferRouter
import Foundation

/// Measures settings in a database: a read that is current across processes, and a write beside a relaxed commit of the
/// same bytes.
func measureSettings(_ bench: inout Bench, _ directory: URL) async throws {
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("settings.db").path)
  var configuration = StorageConfiguration()
  configuration.engines["settings"] = engine
  let key = SettingKey<Data>(
    "bench", in: .engine("settings"), owner: "Bench", about: "A value.", default: Data(), as: .data)
  let router = StorageRouter(configuration: configuration)
  let settings = try await router.settings(key)
  settings[key] = Data(Values.bytes(0))
  let (name, origin) = (KeyName("bench"), StoreOrigin())
  try await bench.measure(
    "settings.get", count: 100_000,
    [
      Variant(subject: "coffer.settings", limit: Limit(maximumMicroseconds: 0.08, isProcessorTime: true)) {
        first, count in
        await grouped(first, count, by: 1_000) { _ in precondition(settings[key].count == 256) }
      }
    ])
  try await bench.measure(
    "settings.put", count: 5_000,
    [
      Variant(subject: "engine") { first, count in
        try await each(first, count) { index in
          let batch = WriteBatch([.put(name, Data(Values.bytes(index)))], durability: .relaxed)
          _ = try await engine.commit(batch, from: origin)
        }
      },
      Variant(subject: "coffer.settings", limit: Limit(subject: "engine", maximumRatio: 1.3)) { first, count in
        await each(first, count) { index in settings[key] = Data(Values.bytes(index)) }
      },
    ])
  try await settings.flush()
  try await engine.close()
}
