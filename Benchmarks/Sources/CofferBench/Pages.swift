import BenchSQLite
import Coffer
import Foundation

/// Measures the cost of page checksums: the same statements by hand, with and without the VFS that checks pages.
func measurePages(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000)
  // Opening a store registers the VFS with SQLite.
  try await SQLiteEngine.open(at: directory.appendingPathComponent("pages.db").path).close()
  func open(_ name: String, _ synchronous: String, _ checks: Bool) throws -> SQLiteByHand {
    let database = try SQLiteByHand(
      directory.appendingPathComponent("pages-\(name)-\(checks).db").path, synchronous: synchronous, checksPages: checks
    )
    for index in 0..<values.count { database.transact { database.write(values.names[index], Values.bytes(index)) } }
    return database
  }
  func variants(
    _ name: String, _ synchronous: String, limit: Double, _ step: @escaping (SQLiteByHand, Int) -> Void
  ) throws -> [Variant] {
    try [false, true].map { checks in
      let database = try open(name, synchronous, checks)
      let limit = checks ? Limit(subject: "sqlite.c", maximumRatio: limit) : Limit()
      return Variant(subject: checks ? "sqlite.c.checked" : "sqlite.c", limit: limit) { first, count in
        await each(first, count) { step(database, $0) }
      }
    }
  }
  func put(_ database: SQLiteByHand, _ index: Int) {
    database.transact { database.write(values.names[values.slot(index)], Values.bytes(index)) }
  }
  try await bench.measure("pages.put.full", count: 2_000, variants("full", "FULL", limit: 1.05, put))
  try await bench.measure("pages.put.relaxed", count: 20_000, variants("relaxed", "NORMAL", limit: 1.1, put))
  try await bench.measure(
    "pages.get", count: 20_000,
    variants("get", "NORMAL", limit: 1.05) { database, index in
      precondition(database.read(values.names[values.slot(index)])?.count == 256)
    })
  try await bench.measure(
    "pages.batch", count: 100,
    variants("batch", "NORMAL", limit: 1.05) { database, index in
      database.transact {
        for slot in 0..<1_000 { database.putValue(values.names[slot], Values.bytes(index * 1_000 + slot)) }
        database.putJournal(values.names[0])
      }
    })
}
