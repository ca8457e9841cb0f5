import Coffer
import CofferCore
import Foundation

/// Saves every product in one of three ways and compares their costs.
func saveAct(_ stage: Stage) async throws {
  // Called once per transaction. A durable transaction ends with one sync, so this counts the syncs.
  let syncs = Locked(0)
  var configuration = SQLiteEngine.Configuration()
  configuration.afterCommit = { _ in syncs.withLock { $0 += 1 } }
  try await stage.withEngine(configuration) { engine in
    let saver = Saver(store: TypedStore(engine: engine), console: stage.console, syncs: syncs)
    try await saver.store.save(stage.catalogue.source, for: "demo/source")  // creates the files

    let items = stage.catalogue.items
    let single = items.indices.prefix(min(200, items.count / 4))
    let batch = items.indices.dropFirst(single.count).prefix((items.count - single.count) / 3)
    let rest = items.indices.dropFirst(single.count + batch.count)
    let writers = min(256, rest.count)
    let save: Saver.Save = { try await saver.store.save(items[$0].product, for: items[$0].key) }
    let rows = [
      try await saver.measure("one after the other", single.count) { try await saver.oneByOne(single, save) },
      try await saver.measure("all in one batch", batch.count) { try await saver.inOneBatch(items[batch]) },
      try await saver.measure("\(writers) writers at once", rest.count) {
        try await saver.concurrently(rest, writers: writers, save)
      },
    ]
    stage.console.table(["", "products", "took", "each", "syncs to disk"], rows.map(\.cells))
    stage.console.line("   Each save returned only after the disk had confirmed it. The \(writers) writers")
    stage.console.line(
      "   shared their syncs, about \(rest.count / max(1, rows[2].syncs)) saves each, so each save cost less.")
    // The same again with products that were encoded beforehand.
    let start = monotonicNanoseconds()
    let codec = JSONCodec()
    let values = try items.map { try codec.encode($0.product) }
    let encoding = seconds(since: start) / Double(max(1, items.count))
    let saveBytes: Saver.Save = { try await saver.store.save(values[$0], for: items[$0].key) }
    let alone = try await saver.measure("one after the other", single.count) {
      try await saver.oneByOne(single, saveBytes)
    }.each
    let among = try await saver.measure("\(writers) writers at once", rest.count) {
      try await saver.concurrently(rest, writers: writers, saveBytes)
    }.each
    stage.console.line(
      "   Each save includes encoding the product as JSON: \(duration(encoding)) on one core.")
    stage.console.line("   Encoded beforehand, a save takes \(duration(alone)) one after the other and")
    stage.console.line("   \(duration(among)) among \(writers) writers: a ratio of \(decimals(alone / among, 1)).")
    stage.summary.savedOneByOne = single.count
    stage.summary.savedInOneBatch = batch.count
    stage.summary.savedConcurrently = rest.count
    stage.summary.concurrentWriters = writers
    stage.summary.syncsForConcurrentSaves = rows[2].syncs
    stage.summary.microsecondsPerSave = rows.map { $0.each * 1e6 }
    stage.check(rows[1].syncs == 1, "products saved in one batch with one sync", count: batch.count)
    stage.check(rows.reduce(0) { $0 + $1.count } == items.count, "products saved and confirmed", count: items.count)
  }
}

private struct Measurement {
  let name: String
  let count: Int
  let seconds: Double
  let syncs: Int

  var each: Double { seconds / Double(max(1, count)) }
  var cells: [String] { [name, grouped(count), duration(seconds), duration(each), grouped(syncs)] }
}

private struct Saver: Sendable {
  /// A function that saves the product at an index.
  typealias Save = @Sendable (Int) async throws -> Void

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

  func oneByOne(_ indices: Range<Int>, _ save: Save) async throws {
    for index in indices { try await save(index) }
  }

  func inOneBatch(_ items: ArraySlice<Item>) async throws {
    try await store.saveAll(items.map { ($0.key, $0.product) })
  }

  func concurrently(_ indices: Range<Int>, writers: Int, _ save: @escaping Save) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          for index in stride(from: indices.lowerBound + writer, to: indices.upperBound, by: writers) {
            try await save(index)
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
