import Coffer
import CofferPostgreSQL
import CofferPostgreSQLBench
import Foundation

/// Measures a store in a PostgreSQL server with its default durability, beside the same statements by hand.
func measurePostgreSQL(_ bench: inout Bench) async throws {
  if let obstacle = BenchServer.obstacle {
    print("skipped: \(obstacle)")
    return
  }
  let server = try await BenchServer()
  let hand = try server.byHand()
  let values = try Values(count: 1_000)
  let engine = try await PostgreSQLEngine.open(server.location("bench"))
  let origin = StoreOrigin()
  for index in 0..<values.count {
    try hand.put([(values.names[index], Values.bytes(index))], journal: 1)
    try await engine.commit(WriteBatch([.put(values.keys[index], Data(Values.bytes(index)))]), from: origin)
  }
  try await measurePuts(&bench, hand, engine, values)
  try await measureReads(&bench, hand, engine, values)
  try await measureBatches(&bench, server, hand, engine)
  try await measureStores(&bench, server, values)
  try await measureAge(&bench, server, values)
  try await measureQuorum(&bench, values)
  try await measureNotify(&bench, server, engine)
  try await engine.close()
}

private func put(_ engine: PostgreSQLEngine, _ values: Values, _ origin: StoreOrigin, _ index: Int) async throws {
  let batch = WriteBatch([.put(values.keys[values.slot(index)], Data(Values.bytes(index)))])
  try await engine.commit(batch, from: origin)
}

private func measurePuts(
  _ bench: inout Bench, _ hand: PostgreSQLByHand, _ engine: PostgreSQLEngine, _ values: Values
) async throws {
  let origin = StoreOrigin()
  try await bench.measure(
    "pg.put.full.1", count: 1_000,
    [
      Variant(subject: "libpq") { first, count in
        try await each(first, count) { index in
          try hand.put([(values.names[values.slot(index)], Values.bytes(index))], journal: 1)
        }
      },
      Variant(subject: "coffer.postgresql", limit: Limit(subject: "libpq", maximumRatio: 1.15)) { first, count in
        try await each(first, count) { try await put(engine, values, origin, $0) }
      },
    ])
  try await bench.measure(
    "pg.put.full.256", count: 20 * 256,
    [
      Variant(subject: "libpq.unnest") { first, count in
        try await grouped(first, count, by: count) { index in
          guard index.isMultiple(of: 256) else { return }
          let rows = (index..<(index + 256)).map { number in
            (key: values.names[(number - first) % values.count], value: Values.bytes(number))
          }
          try hand.put(rows, journal: 256)
        }
      },
      Variant(subject: "coffer.postgresql", limit: Limit(subject: "libpq.unnest", maximumRatio: 1.5)) { first, count in
        let start = now()
        try await writing(256, count / 256) { writer, round in
          try await put(engine, values, origin, first + round * 256 + writer)
        }
        return [(now() - start) / Double(count)]
      },
    ])
}

/// Runs `body` for each round of each of several writers at once.
private func writing(
  _ writers: Int, _ rounds: Int, _ body: @escaping @Sendable (_ writer: Int, _ round: Int) async throws -> Void
) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for writer in 0..<writers {
      group.addTask { for round in 0..<rounds { try await body(writer, round) } }
    }
    try await group.waitForAll()
  }
}

private func measureReads(
  _ bench: inout Bench, _ hand: PostgreSQLByHand, _ engine: PostgreSQLEngine, _ values: Values
) async throws {
  try await bench.measure(
    "pg.get", count: 2_000,
    [
      Variant(subject: "PQexecPrepared") { first, count in
        try await each(first, count) {
          let size = try hand.get(values.names[values.slot($0)])
          precondition(size == 256)
        }
      },
      Variant(
        subject: "coffer.postgresql", limit: Limit(subject: "PQexecPrepared", maximumRatio: 1.3, accepted: 4.5)
      ) { first, count in
        try await each(first, count) { index in
          let entry = try await engine.entry(values.keys[values.slot(index)])
          precondition(entry?.value.count == 256)
        }
      },
    ])
}

private func measureBatches(
  _ bench: inout Bench, _ server: BenchServer, _ hand: PostgreSQLByHand, _ engine: PostgreSQLEngine
) async throws {
  let count = 10_000
  let names = (0..<count).map { Array("batch/\($0)".utf8) }
  let keys = try names.map { try KeyName(String(decoding: $0, as: UTF8.self)) }
  let origin = StoreOrigin()
  try await bench.measure(
    "pg.batch.10000", rounds: 7, count: count,
    [
      Variant(subject: "psql.copy") { _, count in [try await server.copy(count, of: 256) / Double(count)] },
      Variant(subject: "libpq.unnest") { first, count in
        let start = now()
        try hand.put((0..<count).map { (names[$0], Values.bytes(first + $0)) }, journal: 1)
        return [(now() - start) / Double(count)]
      },
      Variant(subject: "coffer.postgresql", limit: Limit(subject: "libpq.unnest", maximumRatio: 1.3)) { first, count in
        let start = now()
        let operations = (0..<count).map { WriteBatch.Operation.put(keys[$0], Data(Values.bytes(first + $0))) }
        try await engine.commit(WriteBatch(operations), from: origin)
        return [(now() - start) / Double(count)]
      },
    ])
}

/// Sixteen writers in sixteen stores, beside sixteen in one.
private func measureStores(_ bench: inout Bench, _ server: BenchServer, _ values: Values) async throws {
  var engines: [PostgreSQLEngine] = []
  for number in 0..<16 { engines.append(try await PostgreSQLEngine.open(server.location("store-\(number)"))) }
  let origin = StoreOrigin()
  let stores = engines
  func puts(_ engine: @escaping @Sendable (Int) -> PostgreSQLEngine) -> (Int, Int) async throws -> [Double] {
    { first, count in
      let start = now()
      try await writing(16, count / 16) { writer, round in
        try await put(engine(writer), values, origin, first + round * 16 + writer)
      }
      return [(now() - start) / Double(count)]
    }
  }
  try await bench.measure(
    "pg.put.16", rounds: 3, count: 1_600,
    [
      Variant(subject: "one store", run: puts { _ in stores[0] }),
      Variant(subject: "16 stores", limit: Limit(subject: "one store"), run: puts { stores[$0] }),
    ])
  for engine in engines { try await engine.close() }
}

/// A store after 100,000 commits, beside a fresh one.
private func measureAge(_ bench: inout Bench, _ server: BenchServer, _ values: Values) async throws {
  let aged = try await PostgreSQLEngine.open(server.location("aged"))
  let fresh = try await PostgreSQLEngine.open(server.location("fresh"))
  let origin = StoreOrigin()
  try await writing(256, 391) { writer, round in try await put(aged, values, origin, round * 256 + writer) }
  for index in 0..<values.count { try await put(fresh, values, origin, index) }
  try await bench.measure(
    "pg.put.aged", count: 500,
    [
      Variant(subject: "fresh") { first, count in
        try await each(first, count) { try await put(fresh, values, origin, $0) }
      },
      Variant(subject: "after 100,000", limit: Limit(subject: "fresh", maximumRatio: 1.3)) { first, count in
        try await each(first, count) { try await put(aged, values, origin, $0) }
      },
    ])
  for engine in [aged, fresh] { try await engine.close() }
}

/// A server whose commits wait for one of two standbys, beside one without any.
private func measureQuorum(_ bench: inout Bench, _ values: Values) async throws {
  let quorum = try await BenchQuorum()
  let single = try await BenchServer()
  let (waiting, alone) = (
    try await PostgreSQLEngine.open(quorum.location), try await PostgreSQLEngine.open(single.location("bench"))
  )
  let origin = StoreOrigin()
  try await bench.measure(
    "pg.put.quorum", count: 200,
    [
      Variant(subject: "single") { first, count in
        try await each(first, count) { try await put(alone, values, origin, $0) }
      },
      Variant(subject: "one of two standbys", limit: Limit(subject: "single")) { first, count in
        try await each(first, count) { try await put(waiting, values, origin, $0) }
      },
    ])
  for engine in [waiting, alone] { try await engine.close() }
}

/// The time from a commit to its delivery to a subscriber with connections of its own.
private func measureNotify(_ bench: inout Bench, _ server: BenchServer, _ engine: PostgreSQLEngine) async throws {
  var apart = PostgreSQLEngine.Configuration()
  // Another number of connections is another set of them, as in another process.
  apart.maximumReaders = 3
  let other = try await PostgreSQLEngine.open(
    server.location("bench") + "&application_name=other", configuration: apart)
  var changes = other.changes(since: nil).makeAsyncIterator()
  let origin = StoreOrigin()
  var times: [Double] = []
  for number in 0..<60 {
    let start = now()
    let commit = try await engine.commit(WriteBatch([.put("notify", Data("\(number)".utf8))]), from: origin)
    while let change = await changes.next(), change.revision < commit.revision {}
    times.append(now() - start)
    // Hints are sent at most 20 times per second.
    try await Task.sleep(for: .milliseconds(60))
  }
  let delivered = times
  try await bench.measure(
    "notify.postgresql", rounds: 1, count: 1,
    [Variant(subject: "coffer.postgresql", limit: Limit(maximumMicroseconds: 5_000)) { _, _ in delivered }])
  try await other.close()
}
