import CofferCSQLite
import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests of large values, which have separate rows so that lookups of other keys do not read them.
struct LargeValueTests {
  private let origin = StoreOrigin()
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.path("store.db") }

  private func value(_ seed: Int, _ size: Int) -> Data {
    var bytes = [UInt8](repeating: 0, count: size)
    for index in 0..<size { bytes[index] = UInt8(truncatingIfNeeded: index &* 31 &+ seed) }
    return Data(bytes)
  }

  /// Checks the values of the store and the number of large ones, and verifies the store.
  private func check(
    _ engine: SQLiteEngine, _ expected: [String: Data], large: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for (name, value) in expected {
      #expect(try await engine.entry(KeyName(name))?.value == value, "\(name)", sourceLocation: sourceLocation)
      #expect(try await engine.summary(of: KeyName(name))?.size == value.count, sourceLocation: sourceLocation)
    }
    let summaries = try await engine.summaries()
    #expect(summaries.map(\.key.string) == expected.keys.sorted(), sourceLocation: sourceLocation)
    #expect(
      summaries.map(\.size) == expected.sorted { $0.key < $1.key }.map(\.value.count), sourceLocation: sourceLocation)
    #expect(try numbers("SELECT count(*) FROM coffer_large") == [large], sourceLocation: sourceLocation)
    let report = try await engine.verify()
    #expect(report.isWhole && report.values == expected.count, "\(report)", sourceLocation: sourceLocation)
  }

  private func numbers(_ query: String) throws -> [Int] {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    try #require(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, PageVFS.registeredName) == SQLITE_OK)
    var statement: OpaquePointer?
    try #require(sqlite3_prepare_v2(database, query, -1, &statement, nil) == SQLITE_OK)
    defer { sqlite3_finalize(statement) }
    var found: [Int] = []
    while sqlite3_step(statement) == SQLITE_ROW { found.append(Int(sqlite3_column_int64(statement, 0))) }
    return found
  }

  @Test func valuesBecomeLargeAndSmallAgain() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    func put(_ values: [String: Data]) async throws {
      try await engine.commit(WriteBatch(values.map { .put(try KeyName($0), $1) }), from: origin)
    }
    try await put(["a": value(1, 100), "b": value(2, 5_000), "c": value(3, 200_000)])
    try await check(engine, ["a": value(1, 100), "b": value(2, 5_000), "c": value(3, 200_000)], large: 2)
    try await put(["a": value(4, 3_000_000), "b": value(5, 5_000), "c": value(6, 0)])
    try await check(engine, ["a": value(4, 3_000_000), "b": value(5, 5_000), "c": value(6, 0)], large: 2)
    try await put(["a": value(7, 2_000), "b": value(8, 90_000)])
    try await engine.commit(WriteBatch([.delete(KeyName("b")), .put(KeyName("c"), value(9, 801))]), from: origin)
    try await check(engine, ["a": value(7, 2_000), "c": value(9, 801)], large: 2)
    try await put(["p/1": value(1, 4_000), "p/2": value(2, 4), "p/3": value(3, 4_000)])
    try await engine.commit(
      WriteBatch([.clear(prefix: KeyName("p/")), .put(KeyName("p/3"), value(4, 4_000))]), from: origin)
    try await check(engine, ["a": value(7, 2_000), "c": value(9, 801), "p/3": value(4, 4_000)], large: 3)
    try await engine.commit(
      WriteBatch([.put(KeyName("a"), value(1, 9_000)), .put(KeyName("a"), value(2, 1))]), from: origin)
    try await engine.close()
    let again = try await SQLiteEngine.open(at: path)
    try await check(again, ["a": value(2, 1), "c": value(9, 801), "p/3": value(4, 4_000)], large: 2)
    try await again.commit(WriteBatch([.clear(prefix: nil), .put(KeyName("z"), value(1, 2_000))]), from: origin)
    try await check(again, ["z": value(1, 2_000)], large: 1)
    try await again.close()
  }

  /// A rejected batch leaves the previous large values intact.
  @Test func aRefusedBatchLeavesLargeValues() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(WriteBatch([.put(KeyName("a"), value(1, 5_000))]), from: origin)
    await #expect(throws: StorageError.self) {
      try await engine.commit(
        WriteBatch([
          .put(KeyName("a"), value(2, 6_000)), .delete(KeyName("a")), .require(KeyName("b"), StoreRevision(9)),
        ]), from: origin)
    }
    try await check(engine, ["a": value(1, 5_000)], large: 1)
    try await engine.close()
  }

  /// A key lookup compares the key with others, and must not read their large values.
  @Test func lookingForAKeyReadsNoLargeValue() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    for number in 0..<9 {
      try await engine.commit(WriteBatch([.put(KeyName("k\(number)"), value(number, 2_000_000))]), from: origin)
    }
    try await engine.close()
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    try #require(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, PageVFS.registeredName) == SQLITE_OK)
    for query in [
      "SELECT revision FROM coffer_values WHERE key = CAST('k4' AS BLOB)",
      "SELECT length(l.value) FROM coffer_values v, coffer_large l WHERE v.key = CAST('k4' AS BLOB) AND l.id = v.large",
    ] {
      try #require(sqlite3_exec(database, query, nil, nil, nil) == SQLITE_OK)
    }
    var (pages, highest) = (Int32(0), Int32(0))
    sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 0)
    #expect((1..<12).contains(pages), "\(pages) pages")
  }

  /// An identifier that refers to the value of another key is damage, and harms no other value.
  @Test(arguments: ["put", "delete", "clear"])
  func aWrongNumberHarmsNobodyElse(_ change: String) async throws {
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(
      WriteBatch([.put(KeyName("a"), value(1, 5_000)), .put(KeyName("b"), value(2, 5_000))]), from: origin)
    try await engine.close()
    try sql(
      path, "UPDATE coffer_values SET large = (SELECT max(large) FROM coffer_values)",
      vfs: PageVFS.registeredName)
    let damaged = try await SQLiteEngine.open(at: path)
    let error = await #expect(throws: StorageError.self) { try await damaged.entry(KeyName("a")) }
    #expect(error?.code == .damaged && error?.key?.string == "a")
    #expect(try await damaged.entry(KeyName("b"))?.value == value(2, 5_000))
    #expect(try await !damaged.verify().isWhole)
    let operation: WriteBatch.Operation =
      switch change {
      case "put": .put(KeyName("a"), value(3, 5_000))
      case "delete": .delete(KeyName("a"))
      default: .clear(prefix: KeyName("a"))
      }
    try await damaged.commit(WriteBatch([operation]), from: origin)
    #expect(try await damaged.entry(KeyName("b"))?.value == value(2, 5_000))
    #expect(try await damaged.entry(KeyName("a"))?.value == (change == "put" ? value(3, 5_000) : nil))
    try await damaged.close()
  }

  /// A value whose row is missing is reported as damaged, never as absent or empty, and affects no other key.
  @Test func aLostLargeValueIsDamage() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(
      WriteBatch([.put(KeyName("a"), value(1, 5_000)), .put(KeyName("b"), value(2, 50))]), from: origin)
    try await engine.close()
    try sql(path, "DELETE FROM coffer_large", vfs: PageVFS.registeredName)
    let damaged = try await SQLiteEngine.open(at: path)
    for read in [{ _ = try await damaged.entry(KeyName("a")) }, { _ = try await damaged.summary(of: KeyName("a")) }] {
      let error = await #expect(throws: StorageError.self) { try await read() }
      #expect(error?.code == .damaged)
    }
    #expect(try await damaged.entry(KeyName("b"))?.value == value(2, 50))
    let report = try await damaged.verify()
    #expect(report.damaged.map(\.string) == ["a"])
    try await damaged.commit(WriteBatch([.put(KeyName("a"), value(3, 6_000))]), from: origin)
    try await check(damaged, ["a": value(3, 6_000), "b": value(2, 50)], large: 1)
    try await damaged.close()
  }

  /// Damage to a page of a large value affects no other value, and writing the value again repairs it.
  @Test func aDamagedByteIsMendedByWriting() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(
      WriteBatch([.put(KeyName("a"), value(1, 5_000)), .put(KeyName("b"), Data(repeating: 0x5A, count: 2_000))]),
      from: origin)
    try await engine.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let range = try #require(bytes.range(of: Data(repeating: 0x5A, count: 500)))
    bytes[range.lowerBound + 250] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    let damaged = try await SQLiteEngine.open(at: path)
    let error = await #expect(throws: StorageError.self) { try await damaged.entry(KeyName("b")) }
    #expect(error?.code == .damaged && error?.key?.string == "b")
    #expect(try await damaged.entry(KeyName("a"))?.value == value(1, 5_000))
    #expect(try await damaged.entry(KeyName("c")) == nil)
    try await damaged.commit(WriteBatch([.put(KeyName("c"), value(3, 3_000))]), from: origin)
    try await damaged.commit(WriteBatch([.put(KeyName("b"), value(2, 2_000))]), from: origin)
    try await check(damaged, ["a": value(1, 5_000), "b": value(2, 2_000), "c": value(3, 3_000)], large: 3)
    try await damaged.close()
  }

  /// Large values stored inline by an earlier format stay readable, and move when they are written.
  @Test func valuesInPlaceMoveWhenTheyAreWritten() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(
      WriteBatch([.put(KeyName("a"), value(1, 5_000)), .put(KeyName("b"), value(2, 9_000))]), from: origin)
    try await engine.close()
    try sql(
      path, "UPDATE coffer_values SET value = (SELECT value FROM coffer_large WHERE id = large), large = NULL",
      vfs: PageVFS.registeredName)
    try sql(path, "DELETE FROM coffer_large", vfs: PageVFS.registeredName)
    let old = try await SQLiteEngine.open(at: path)
    try await check(old, ["a": value(1, 5_000), "b": value(2, 9_000)], large: 0)
    try await old.commit(WriteBatch([.put(KeyName("a"), value(3, 5_000))]), from: origin)
    try await check(old, ["a": value(3, 5_000), "b": value(2, 9_000)], large: 1)
    try await old.close()
  }

  @Test func aValueOfNobodyIsTold() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(WriteBatch([.put(KeyName("a"), value(1, 5_000))]), from: origin)
    try await engine.close()
    try sql(path, "INSERT INTO coffer_large (key, value) VALUES (x'61', x'00')", vfs: PageVFS.registeredName)
    let again = try await SQLiteEngine.open(at: path)
    let report = try await again.verify()
    #expect(!report.isWhole && report.structure.contains { $0.contains("belong to no key") }, "\(report)")
    try await again.close()
  }
}
