import Coffer
import Foundation

func measureGets(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000)
  let path = directory.appendingPathComponent("gets.db").path
  let engine = try await SQLiteEngine.open(at: path)
  var batch = WriteBatch()
  for index in 0..<values.count { batch.put(values.keys[index], Data(Values.bytes(index))) }
  try await engine.commit(batch, from: Origin())
  let database = try SQLiteByHand(path, synchronous: "NORMAL", creates: false)
  try await bench.measure(
    "get.uncached", count: 20_000,
    [
      Variant(subject: "sqlite.c") { first, count in
        await grouped(first, count, by: 100) { index in
          precondition(database.read(values.names[values.slot(index)])?.count == 256)
        }
      },
      Variant(subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c", maximumRatio: 1.5)) { first, count in
        try await grouped(first, count, by: 100) { index in
          let entry = try await engine.entry(values.keys[values.slot(index)])
          precondition(entry?.value.count == 256)
        }
      },
    ])
  try await engine.close()
}

func measureBatches(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 10_000)
  let database = try SQLiteByHand(directory.appendingPathComponent("batch-c.db").path, synchronous: "FULL")
  let engine = try await SQLiteEngine.open(at: directory.appendingPathComponent("batch.db").path)
  let origin = Origin()
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
      Variant(subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c")) { first, count in
        let start = now()
        var batch = WriteBatch()
        for index in 0..<count { batch.put(values.keys[index], Data(Values.bytes(first + index))) }
        _ = try await engine.commit(batch, from: origin)
        return [(now() - start) / Double(count)]
      },
    ])
  try await engine.close()
}
