import CofferRouter
import Foundation

func measureGets(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000)
  let path = directory.appendingPathComponent("gets.db").path
  let engine = try await SQLiteEngine.open(at: path)
  var batch = WriteBatch()
  for index in 0..<values.count { batch.put(values.keys[index], Data(Values.bytes(index))) }
  try await engine.commit(batch, from: StoreOrigin())
  let database = try SQLiteByHand(path, synchronous: "NORMAL", creates: false)
  try await bench.measure(
    "get.uncached", count: 20_000,
    [
      Variant(subject: "sqlite.c") { first, count in
        await grouped(first, count, by: 100) { index in
          precondition(database.read(values.names[values.slot(index)])?.count == 256)
        }
      },
      Variant(subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c", maximumRatio: 1.15, accepted: 1.3)) {
        first, count in
        try await grouped(first, count, by: 100) { index in
          let entry = try await engine.entry(values.keys[values.slot(index)])
          precondition(entry?.value.count == 256)
        }
      },
    ] + (try foundationGets(directory, values)))
  try await measureCachedGets(&bench, engine, values)
  try await engine.close()
}

/// Measures reads of a cached decoded value, each of which checks the wake-up file for commits of other processes.
private func measureCachedGets(_ bench: inout Bench, _ engine: SQLiteEngine, _ values: Values) async throws {
  struct Setting: Codable, Equatable, Sendable {
    var name: String
    var isOn: Bool
    var level: Int
  }
  let store = TypedStore(engine: engine)
  let settings = (0..<values.count).map { Setting(name: "setting \($0)", isOn: $0 % 2 == 0, level: $0) }
  try await store.saveAll(Array(zip(values.keys, settings)))
  for key in values.keys { _ = try await store.load(Setting.self, for: key) }
  try await bench.measure(
    "get.cached.typed", count: 100_000,
    [
      Variant(subject: "coffer.sqlite", limit: Limit(maximumMicroseconds: 0.12, isProcessorTime: true)) {
        first, count in
        await grouped(first, count, by: 1_000) { index in
          let slot = index % values.count
          precondition(store.cached(Setting.self, for: values.keys[slot])?.level == slot)
        }
      }
    ])
}

private func foundationGets(_ directory: URL, _ values: Values) throws -> [Variant] {
  let files = directory.appendingPathComponent("get-files")
  try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
  setenv("XDG_CONFIG_HOME", directory.path, 1)
  let suite = "coffer-bench-get"
  let defaults = UserDefaults(suiteName: suite)
  let names = values.names.map { String(decoding: $0, as: UTF8.self) }
  for (index, name) in names.enumerated() {
    try Data(Values.bytes(index)).write(to: files.appendingPathComponent(name))
    defaults?.set(Data(Values.bytes(index)), forKey: name)
  }
  return [
    Variant(subject: "foundation.file", limit: Limit(subject: "sqlite.c")) { first, count in
      try await grouped(first, count / 4, by: 100) { index in
        let data = try Data(contentsOf: files.appendingPathComponent(names[values.slot(index)]))
        precondition(data.count == 256)
      }
    },
    Variant(subject: "foundation.userdefaults", limit: Limit(subject: "sqlite.c")) { first, count in
      let defaults = UserDefaults(suiteName: suite)
      return await grouped(first, count / 4, by: 100) { index in
        precondition(defaults?.data(forKey: names[values.slot(index)])?.count == 256)
      }
    },
  ]
}

func measureBatches(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 10_000)
  let database = try SQLiteByHand(directory.appendingPathComponent("batch-c.db").path, synchronous: "FULL")
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("batch.db").path)
  let origin = StoreOrigin()
  try await bench.measure(
    "batch.10000", count: 10_000,
    [
      Variant(subject: "sqlite.c") { first, count in
        let start = now()
        database.transact {
          for index in 0..<count { database.putValue(values.names[index], Values.bytes(first + index)) }
          database.putJournal(Array(values.names.joined()))
        }
        return [(now() - start) / Double(count)]
      },
      Variant(subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c", maximumRatio: 1, accepted: 1.3)) {
        first, count in
        let start = now()
        var batch = WriteBatch()
        for index in 0..<count { batch.put(values.keys[index], Data(Values.bytes(first + index))) }
        _ = try await engine.commit(batch, from: origin)
        return [(now() - start) / Double(count)]
      },
    ])
  try await engine.close()
}
