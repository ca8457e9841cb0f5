import Coffer
import Foundation

/// Saves every product in one of three ways and compares what each way costs.
func saveAct(_ stage: Stage) async throws {
  // Called once for each transaction, and a durable transaction ends with one sync: it tells how many saves shared one.
  let syncs = Locked(0)
  var configuration = SQLiteConfiguration()
  configuration.afterCommit = { _ in syncs.withLock { $0 += 1 } }
  try await stage.withEngine(configuration) { engine in
    let saver = Saver(store: TypedStore(engine: engine), console: stage.console, syncs: syncs)
    try await saver.store.save(stage.catalogue.source, for: "demo/source")  // makes the files ready

    let items = stage.catalogue.items[...]
    let single = items.prefix(min(200, items.count / 4))
    let batch = items.dropFirst(single.count).prefix((items.count - single.count) / 3)
    let rest = items.dropFirst(single.count + batch.count)
    let writers = min(256, rest.count)
    let rows = [
      try await saver.measure("one after the other", single.count) { try await saver.oneByOne(single) },
      try await saver.measure("all in one batch", batch.count) { try await saver.inOneBatch(batch) },
      try await saver.measure("\(writers) writers at once", rest.count) {
        try await saver.concurrently(rest, writers: writers)
      },
    ]
    stage.console.table(["", "products", "took", "each", "syncs to disk"], rows.map(\.cells))
    let encoding = duration(try encodingTime(items))
    stage.console.line("   Each save returned only when the disk had confirmed it. The \(writers) writers")
    stage.console.line(
      "   shared their syncs, about \(rest.count / max(1, rows[2].syncs)) saves each, so each save cost less.")
    stage.console.line("   A part of every save is turning the product into JSON: \(encoding) on one core.")
    stage.summary.savedOneByOne = single.count
    stage.summary.savedInOneBatch = batch.count
    stage.summary.savedConcurrently = rest.count
    stage.summary.concurrentWriters = writers
    stage.summary.syncsForConcurrentSaves = rows[2].syncs
    stage.summary.microsecondsPerSave = rows.map { $0.seconds / Double(max(1, $0.count)) * 1e6 }
    stage.check(rows[1].syncs == 1, "products in one batch, saved in one go", count: batch.count)
    stage.check(rows.reduce(0) { $0 + $1.count } == items.count, "products saved and confirmed", count: items.count)
  }
}

/// What turning one product into bytes takes.
private func encodingTime(_ items: ArraySlice<Item>) throws -> Double {
  let codec = JSONCodec()
  let start = monotonicNanoseconds()
  for item in items { _ = try codec.encode(item.product) }
  return seconds(since: start) / Double(max(1, items.count))
}

private struct Measurement {
  let name: String
  let count: Int
  let seconds: Double
  let syncs: Int

  var cells: [String] {
    [name, grouped(count), duration(seconds), duration(seconds / Double(max(1, count))), grouped(syncs)]
  }
}

private struct Saver: Sendable {
  let store: TypedStore
  let console: Console
  let syncs: Locked<Int>

  func measure(_ name: String, _ count: Int, _ body: () async throws -> Void) async throws -> Measurement {
    console.progress("saving \(counted(count, "product")), \(name)")
    let syncsBefore = syncs.withLock { $0 }
    let start = monotonicNanoseconds()
    try await body()
    let took = seconds(since: start)
    return Measurement(name: name, count: count, seconds: took, syncs: syncs.withLock { $0 } - syncsBefore)
  }

  func oneByOne(_ items: ArraySlice<Item>) async throws {
    for item in items { try await store.save(item.product, for: item.key) }
  }

  func inOneBatch(_ items: ArraySlice<Item>) async throws {
    try await store.saveAll(items.map { ($0.key, $0.product) })
  }

  func concurrently(_ items: ArraySlice<Item>, writers: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          for index in stride(from: items.startIndex + writer, to: items.endIndex, by: writers) {
            try await store.save(items[index].product, for: items[index].key)
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
