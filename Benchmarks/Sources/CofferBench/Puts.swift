import Coffer
import Foundation

func measurePuts(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000)
  let raw = try RawFile(directory.appendingPathComponent("raw").path)
  let full = try SQLiteByHand(directory.appendingPathComponent("full.db").path, synchronous: "FULL")
  let normal = try SQLiteByHand(directory.appendingPathComponent("normal.db").path, synchronous: "NORMAL")
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("puts.db").path)
  let relaxedEngine = try await SQLiteEngine.open(at: directory.appendingPathComponent("relaxed.db").path)
  let (origin, queue) = (StoreOrigin(), DispatchQueue(label: "by hand"))
  for index in 0..<values.count {
    full.transact { full.write(values.names[index], Values.bytes(index)) }
    normal.transact { normal.write(values.names[index], Values.bytes(index)) }
    for engine in [engine, relaxedEngine] {
      _ = try await engine.commit(
        WriteBatch([.put(values.keys[index], Data(Values.bytes(index)))], durability: .relaxed), from: origin)
    }
  }
  try await engine.flush()

  func byHand(_ database: SQLiteByHand) -> (Int, Int) async -> [Double] {
    { first, count in
      await each(first, count) { index in
        let value = Values.bytes(index)
        database.transact { database.write(values.names[values.slot(index)], value) }
      }
    }
  }
  func byCoffer(_ engine: SQLiteEngine, _ durability: StoreDurability) -> (Int, Int) async throws -> [Double] {
    { first, count in
      try await each(first, count) { index in
        let batch = WriteBatch(
          [.put(values.keys[values.slot(index)], Data(Values.bytes(index)))], durability: durability)
        _ = try await engine.commit(batch, from: origin)
      }
    }
  }

  try await bench.measure(
    "put.full.1", count: 2_000,
    [
      Variant(subject: "raw.fdatasync") { first, count in await each(first, count) { _ in raw.writePage() } },
      Variant(subject: "sqlite.c", limit: Limit(subject: "raw.fdatasync"), run: byHand(full)),
      // What blocks belongs on a thread of its own, and a task that waits for one costs two changes of threads.
      Variant(subject: "sqlite.c.queue", limit: Limit(subject: "sqlite.c")) { first, count in
        nonisolated(unsafe) let full = full  // One use at a time: each is awaited.
        return await each(first, count) { index in
          await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            queue.async {
              let value = Values.bytes(index)
              full.transact { full.write(values.names[values.slot(index)], value) }
              done.resume()
            }
          }
        }
      },
      Variant(
        subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c", maximumRatio: 1.15, accepted: 1.6),
        run: byCoffer(engine, .full)),
    ] + foundationPuts(directory, values))

  let groups = 40
  try await bench.measure(
    "put.full.256", count: groups * 256,
    [
      Variant(subject: "sqlite.c", limit: Limit(operation: "put.full.1", subject: "sqlite.c")) { first, count in
        await grouped(first, count, by: count) { index in
          guard index.isMultiple(of: 256) else { return }
          full.transact {
            for index in index..<(index + 256) {
              full.write(values.names[values.slot(index)], Values.bytes(index))
            }
          }
        }
      },
      Variant(
        subject: "coffer.sqlite",
        limit: Limit(subject: "sqlite.c", maximumRatio: 1.2, accepted: 2.5)
      ) { first, count in
        let start = now()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<256 {
            group.addTask {
              for round in 0..<groups {
                let index = first + round * 256 + writer
                let batch = WriteBatch([.put(values.keys[values.slot(index)], Data(Values.bytes(index)))])
                _ = try await engine.commit(batch, from: origin)
              }
            }
          }
          try await group.waitForAll()
        }
        return [(now() - start) / Double(count)]
      },
    ])

  try await bench.measure(
    "put.relaxed.1", count: 5_000,
    [
      Variant(subject: "sqlite.c", run: byHand(normal)),
      Variant(
        subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c", maximumRatio: 1.1, accepted: 1.3),
        run: byCoffer(relaxedEngine, .relaxed)),
    ])
  try await engine.close()
  try await relaxedEngine.close()
}

/// Measures Foundation's means. Neither survives power loss; the second survives a kill only after `synchronize`, which
/// is included here.
private func foundationPuts(_ directory: URL, _ values: Values) -> [Variant] {
  let files = directory.appendingPathComponent("files")
  try? FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
  setenv("XDG_CONFIG_HOME", directory.path, 1)
  return [
    Variant(subject: "foundation.file", limit: Limit(subject: "raw.fdatasync")) { first, count in
      try await each(first, count / 4) { index in
        let name = String(decoding: values.names[values.slot(index)], as: UTF8.self)
        try Data(Values.bytes(index)).write(to: files.appendingPathComponent(name), options: .atomic)
      }
    },
    Variant(subject: "foundation.userdefaults", limit: Limit(subject: "raw.fdatasync")) { first, count in
      let defaults = UserDefaults(suiteName: "coffer-bench")
      return await each(first, count / 20) { index in
        let name = String(decoding: values.names[values.slot(index)], as: UTF8.self)
        defaults?.set(Data(Values.bytes(index)), forKey: name)
        defaults?.synchronize()
      }
    },
  ]
}
