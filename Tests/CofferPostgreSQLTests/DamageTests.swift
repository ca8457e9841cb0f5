import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Rows that were changed behind the store's back: nothing wrong is returned, and nothing is absent in silence.
@Suite("PostgreSQL: damage", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct DamageTests {
  let server: PostgreSQLServer
  let database: String

  init() async throws {
    server = try await SharedServer.running()
    database = try await server.newDatabase()
  }

  private func open(
    _ change: (inout PostgreSQLEngine.Configuration) -> Void = { _ in }
  ) async throws -> PostgreSQLEngine {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    change(&configuration)
    return try await PostgreSQLEngine.open(server.location(database), configuration: configuration)
  }

  private func sql(_ text: String) async throws { try await server.psql(text, database: database) }

  @Test(
    "One changed bit in any column of a value is damage, and its bytes are kept",
    arguments: [
      "value = set_bit(value, 5, 1 - get_bit(value, 5))", "checksum = checksum # 1",
      "checksum = checksum # (1::bigint << 40)",
      "revision = revision # 2", "revision = revision # (1::bigint << 62)",
      "attributes = set_bit(attributes, 30, 1 - get_bit(attributes, 30))",
      "attributes = NULL", "store = store",
    ])
  func flippedBits(_ change: String) async throws {
    let reports = Locked<[DamageReport]>([])
    let engine = try await open { $0.onDamage = { report in reports.withLock { $0.append(report) } } }
    var attributes = ValueAttributes()
    attributes[ValueAttribute<UInt64>(applicationCode: 130)] = 7
    try await engine.commit(
      WriteBatch([.put("a", Data("value".utf8), attributes), .put("b", Data("other".utf8))]), from: StoreOrigin())
    try await sql("UPDATE coffer.values SET \(change) WHERE key = 'a'")
    if change == "store = store" {
      #expect(try await engine.entry("a")?.value == Data("value".utf8))
      return try await engine.close()
    }
    let single = await #expect(throws: StorageError.self) { try await engine.entry("a") }
    #expect(single?.code == .damaged && single?.key == "a", "\(String(describing: single))")
    await #expect(throws: StorageError.self) { try await engine.entries(["b", "a"]) }
    let listed = await #expect(throws: StorageError.self) {
      try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 10) }
    }
    #expect(listed?.code == .damaged)
    #expect(try await engine.entry("b")?.value == Data("other".utf8))
    #expect(reports.withLock { $0.count } >= 1)
    try await eventually("the value is quarantined") { try await !engine.quarantinedValues().isEmpty }
    let kept = try #require(try await engine.quarantinedValues().first)
    #expect(kept.key == "a" && kept.reason == .damagedValue)
    // Written again, it is whole.
    try await engine.commit(WriteBatch([.put("a", Data("new".utf8))]), from: StoreOrigin())
    #expect(try await engine.entry("a")?.value == Data("new".utf8))
    try await engine.removeQuarantined([kept.id])
    #expect(try await engine.quarantinedValues().allSatisfy { $0.id != kept.id })
    try await engine.close()
  }

  @Test("A head that is negative or beyond all numbers ends no process, and hides no value")
  func impossibleHead() async throws {
    let engine = try await open()
    let commit = try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    try await sql("UPDATE coffer.stores SET head = -1")
    #expect(try await engine.entry("a")?.value == Data("1".utf8))
    let second = try await engine.commit(WriteBatch([.put("a", Data("2".utf8))]), from: StoreOrigin())
    #expect(second.revision > commit.revision)
    try await sql("UPDATE coffer.stores SET head = \(Int64.min)")
    let fresh = try await open()
    #expect(try await fresh.entry("a")?.revision == second.revision)
    #expect(try await fresh.commit(WriteBatch([.put("b", Data())]), from: StoreOrigin()).revision > second.revision)
    try await sql("UPDATE coffer.stores SET head = \(Int64.max)")
    for engine in [fresh, try await open()] {
      #expect(try await engine.entry("a")?.value == Data("2".utf8))
      let error = await #expect(throws: StorageError.self) {
        try await engine.commit(WriteBatch([.put("b", Data())]), from: StoreOrigin())
      }
      #expect(error?.code == .damaged, "\(String(describing: error))")
      try await engine.close()
    }
    try await engine.close()
  }

  @Test("A store whose values are all encrypted takes no plain ones")
  func onlyEnvelopes() async throws {
    let engine = try await open()
    let envelope = Data(SealedValue.magic + [1, 2])
    let marks: [WriteBatch.Operation] = [.putRecord(.keyRing, Data([1])), .putRecord(.onlyEnvelopes, Data())]
    func put(_ operations: WriteBatch.Operation...) async throws {
      try await engine.commit(WriteBatch(operations), from: StoreOrigin())
    }
    try await put(.put("a", Data("1".utf8)))
    try await engine.commit(WriteBatch(marks), from: StoreOrigin())
    for operations: [WriteBatch.Operation] in [
      [.put("a", Data("2".utf8))], [.put("b", Data())], [.delete("a"), .put("b", Data("2".utf8))],
    ] {
      let error = await #expect(throws: StorageError.self) {
        try await engine.commit(WriteBatch(operations), from: StoreOrigin())
      }
      #expect(error?.code == .keyUnavailable && error?.message.contains("opened without its key") == true)
    }
    #expect(try await engine.entry("a")?.value == Data("1".utf8))
    // Those that are committed together do not fail with it.
    let keys = try (0..<20).map { try KeyName("k\($0)") }
    let tasks = keys.enumerated().map { number, key in
      Task { try await put(.put(key, number == 10 ? Data("plain".utf8) : envelope)) }
    }
    for (number, task) in tasks.enumerated() {
      if number == 10 {
        await #expect(throws: StorageError.self) { try await task.value }
      } else {
        try await task.value
      }
    }
    try await put(.put("a", envelope), .putRecord(SystemRecord.Name("other"), Data("plain".utf8)))
    try await put(.deleteRecord(.onlyEnvelopes))
    try await put(.put("a", Data("3".utf8)))
    try await engine.close()
  }

  @Test("An envelope is not replaced with a plain value in a store that has lost its key ring")
  func lostRing() async throws {
    let engine = try await open()
    let envelope = Data(SealedValue.magic + [1, 2])
    var others = ValueAttributes.envelope
    others.expires = Date(timeIntervalSince1970: 4_000_000_000)
    for code: UInt8 in [1, 2] { others[ValueAttribute<UInt8>(code: code)] = 4 }
    var own = ValueAttributes()
    own[ValueAttribute<UInt64>(applicationCode: 130)] = 4
    try await engine.commit(
      WriteBatch([
        .putRecord(.keyRing, Data([1])), .put("a", envelope, .envelope), .put("b", envelope, others),
        .put("decrypted", envelope, .envelope), .put("own", envelope, own),
      ]), from: StoreOrigin())
    func put(_ key: KeyName, _ value: Data = Data("plain".utf8)) async throws {
      try await engine.commit(WriteBatch([.put(key, value)]), from: StoreOrigin())
    }
    try await put("decrypted")
    try await engine.commit(WriteBatch([.deleteRecord(.keyRing)]), from: StoreOrigin())
    for key: KeyName in ["a", "b"] {
      let error = await #expect(throws: StorageError.self) { try await put(key) }
      #expect(error?.code == .keyUnavailable && error?.key == key, "\(String(describing: error))")
      #expect(try await engine.entry(key)?.value == envelope)
    }
    // Those that are committed together do not fail with it.
    let keys = try (0..<20).map { try KeyName($0 == 10 ? "a" : "k\($0)") }
    let tasks = keys.map { key in Task { try await put(key) } }
    for (key, task) in zip(keys, tasks) {
      if key == "a" { await #expect(throws: StorageError.self) { try await task.value } } else { try await task.value }
    }
    try await put("own")
    try await put("a", envelope)
    try await put("a")
    try await engine.commit(WriteBatch([.delete("b")]), from: StoreOrigin())
    try await put("b")
    try await engine.close()
  }

  @Test("A changed expiry hides nothing and removes nothing")
  func expiry() async throws {
    let now = Locked(Date(timeIntervalSince1970: 1_800_000_000))
    let engine = try await open { $0.clock = StoreClock { now.withLock { $0 } } }
    var attributes = ValueAttributes()
    attributes.expires = Date(timeIntervalSince1970: 1_900_000_000)
    try await engine.commit(WriteBatch([.put("a", Data("v".utf8), attributes)]), from: StoreOrigin())
    attributes.expires = now.withLock { $0 + 1 }
    try await engine.commit(WriteBatch([.put("z", Data("v".utf8), attributes)]), from: StoreOrigin())
    try await sql("UPDATE coffer.values SET expires = 1")
    now.withLock { $0 += 100_000 }
    try await engine.commit(WriteBatch([.put("b", Data())]), from: StoreOrigin())
    // The sweep has looked at both.
    let rest = "SELECT count(*) FROM coffer.values WHERE key = 'z'"
    try await eventually("the sweep ends") { try await server.psql(rest, database: database) == "0" }
    #expect(try await engine.entry("a")?.value == Data("v".utf8))
    try await engine.close()
  }

  @Test(
    "A writer's row that was changed, fenced or removed fails no commit",
    arguments: [
      "UPDATE coffer.writers SET attempt = attempt # 4", "UPDATE coffer.writers SET is_fenced = true",
      "DELETE FROM coffer.writers", "UPDATE coffer.writers SET writer = gen_random_uuid()",
    ])
  func writers(_ change: String) async throws {
    let engine = try await open()
    let first = try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    try await sql(change)
    let second = try await engine.commit(WriteBatch([.put("a", Data("2".utf8))]), from: StoreOrigin())
    #expect(second.revision == first.revision.next)
    #expect(try await server.psql("SELECT count(*) FROM coffer.journal", database: database) == "2")
    try await engine.close()
  }

  @Test("A damaged or missing row of the journal is a reload, and later commits are delivered")
  func journal() async throws {
    for change in [
      "UPDATE coffer.journal SET changed = set_bit(changed, 9, 1 - get_bit(changed, 9)) WHERE revision = 2",
      "DELETE FROM coffer.journal WHERE revision = 2",
    ] {
      let database = try await server.newDatabase()
      let engine = try await PostgreSQLEngine.open(server.location(database), configuration: .patient)
      for number in 0..<3 {
        try await engine.commit(WriteBatch([.put("k", Data("\(number)".utf8))]), from: StoreOrigin())
      }
      try await server.psql(change, database: database)
      try await engine.close()
      let again = try await PostgreSQLEngine.open(server.location(database), configuration: .patient)
      var changes = again.changes(since: StoreRevision(1)).makeAsyncIterator()
      #expect(await changes.next() == .reload(upTo: StoreRevision(3)))
      let commit = try await again.commit(WriteBatch([.put("k", Data("x".utf8))]), from: StoreOrigin())
      #expect(await changes.next() == .commit(commit))
      try await again.close()
    }
  }

  @Test("A server that was restored to an older state never repeats revisions, and subscribers reload")
  func restored() async throws {
    let engine = try await open()
    for number in 0..<5 {
      try await engine.commit(WriteBatch([.put("k", Data("\(number)".utf8))]), from: StoreOrigin())
    }
    let epoch = engine.latestPosition.epoch
    var changes = engine.changes(since: nil).makeAsyncIterator()
    // As after the restoration of a backup that was made at revision 2.
    try await sql(
      "UPDATE coffer.stores SET head = 2; DELETE FROM coffer.journal WHERE revision > 2; DELETE FROM coffer.values")
    #expect(try await engine.entry("k") == nil)
    #expect(engine.latestRevision > StoreRevision(5))
    #expect(await changes.next() == .reload(upTo: engine.latestRevision))
    #expect(engine.latestPosition.epoch != epoch)
    let commit = try await engine.commit(WriteBatch([.put("k", Data("new".utf8))]), from: StoreOrigin())
    #expect(await changes.next() == .commit(commit))
    try await engine.close()
    // A subscriber at a position of the old history starts anew.
    let again = try await open()
    var late = again.changes(since: JournalPosition(epoch: epoch, revision: StoreRevision(3))).makeAsyncIterator()
    #expect(await late.next() == .reload(upTo: commit.revision))
    try await again.close()
  }

  @Test("A handle that only reads goes on after the restoration of an older state, and writes nothing")
  func restoredForReaders() async throws {
    let writer = try await open()
    for number in 0..<5 {
      try await writer.commit(WriteBatch([.put("k", Data("\(number)".utf8))]), from: StoreOrigin())
    }
    let reader = try await open { $0.access = .readOnly }
    #expect(try await reader.entry("k")?.value == Data("4".utf8))
    try await writer.close()
    try await sql("UPDATE coffer.stores SET head = 2; DELETE FROM coffer.values")
    #expect(try await reader.entry("k") == nil)
    #expect(try await reader.summaries().isEmpty)
    let head = try await server.psql("SELECT head FROM coffer.stores", database: database)
    #expect(head == "2")
    try await reader.close()
  }

  @Test("A head that is behind the journal continues beyond it")
  func head() async throws {
    let engine = try await open()
    for number in 0..<5 {
      try await engine.commit(WriteBatch([.put("k", Data("\(number)".utf8))]), from: StoreOrigin())
    }
    try await engine.close()
    try await sql("UPDATE coffer.stores SET head = head # 4")
    let again = try await open()
    let commit = try await again.commit(WriteBatch([.put("k", Data("new".utf8))]), from: StoreOrigin())
    #expect(commit.revision > StoreRevision(5))
    #expect(try await again.entry("k")?.revision == commit.revision)
    try await again.close()
  }

  @Test("Newer tables, tables of another origin and lost tables are told apart, and nothing is changed")
  func schemas() async throws {
    func code(_ change: String) async throws -> StorageError.Code? {
      let name = try await server.newDatabase()
      if !change.hasPrefix("CREATE") {
        try await PostgreSQLEngine.open(server.location(name), configuration: .patient).close()
      }
      try await server.psql(change, database: name)
      let error = await #expect(throws: StorageError.self) {
        try await PostgreSQLEngine.open(server.location(name), configuration: .patient)
      }
      return error?.code
    }
    #expect(try await code("UPDATE coffer.format SET version = 2") == .newerFormat)
    #expect(try await code("CREATE SCHEMA coffer") == .notAStore)
    #expect(try await code("DROP TABLE coffer.values") == .notAStore)
    #expect(try await code("DELETE FROM coffer.format") == .damaged)
  }
}
