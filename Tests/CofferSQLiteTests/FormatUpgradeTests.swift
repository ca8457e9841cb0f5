import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of opening and upgrading stores of earlier formats.
@Suite(.blocking, .serialized) struct FormatUpgradeTests {
  private func golden(_ name: String) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden/\(name).db")
    try FileManager.default.copyItem(at: file, to: directory.url.appendingPathComponent("store.db"))
    return directory
  }

  // Requirement 1.69
  @Test func aStoreOfTheSecondFormatHasAttributesAfterwards() async throws {
    let directory = try golden("format-2")
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    #expect(engine.latestRevision == StoreRevision(7))
    for (key, value, revision) in [
      ("greeting", "hello2", 7), ("empty", "", 2), ("caf\u{e9}", "1", 3), ("goner", "2", 5),
    ]
      as [(String, String, UInt64)]
    {
      let entry = try #require(try await engine.entry(KeyName(key)))
      #expect(entry.value == Data(value.utf8) && entry.revision == StoreRevision(revision) && entry.attributes.isEmpty)
    }
    #expect(try await engine.entry(KeyName("gone")) == nil)
    #expect(try await engine.verify().isWhole)
    let kind = ValueAttribute<UInt64>(applicationCode: 128)
    var attributes = ValueAttributes()
    attributes[kind] = 7
    try await engine.commit(WriteBatch([.put(KeyName("greeting"), Data("new".utf8), attributes)]), from: StoreOrigin())
    try await engine.close()
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.entry(KeyName("greeting"))?.attributes[kind] == 7)
    #expect(try await again.verify().isWhole)
    try await again.close()
  }

  /// An upgrade changes no row, so it neither hides nor spreads damage.
  @Test func aDamagedStoreOfTheSecondFormatLosesOneValue() async throws {
    let directory = try golden("format-2")
    try directory.change { bytes in
      let range = try #require(bytes.range(of: Data("hello2".utf8)))
      bytes[range.lowerBound] ^= 1
    }
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    await #expect(throws: StorageError.self) { try await engine.entry(KeyName("greeting")) }
    #expect(try await engine.entry(KeyName("goner"))?.value == Data("2".utf8))
    // Summaries do not verify row checksums, so a listing past the damaged page fails.
    await #expect(throws: StorageError.self) { try await engine.summaries() }
    try await engine.commit(WriteBatch([.put(KeyName("greeting"), Data("new".utf8))]), from: StoreOrigin())
    #expect(try await engine.entry(KeyName("greeting"))?.value == Data("new".utf8))
    try await engine.close()
  }

  @Test func aStoreOfTheSecondFormatIsReadWhereItCannotBeBroughtUp() async throws {
    let directory = try golden("format-2")
    var configuration = SQLiteEngine.Configuration()
    configuration.access = .readOnly
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    #expect(try await engine.entry(KeyName("greeting"))?.value == Data("hello2".utf8))
    #expect(try await engine.summaries().map(\.key.string) == ["caf\u{e9}", "empty", "goner", "greeting"])
    #expect(try await engine.record(SystemRecord.Name("any")) == nil)
    #expect(try await engine.verify().isWhole)
    try await engine.close()
    let again = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(try await again.entry(KeyName("greeting"))?.value == Data("hello2".utf8))
    try await again.close()
  }

  @Test(arguments: ["format-1", "format-2"])
  func aBackupOfAnEarlierFormatIsRestored(_ name: String) async throws {
    let directory = try golden(name)
    let target = directory.path("other.db")
    try await SQLiteEngine.restore(from: directory.path("store.db"), to: target)
    let engine = try await SQLiteEngine.open(at: target)
    #expect(try await engine.entry(KeyName("greeting"))?.value.starts(with: Data("hello".utf8)) == true)
    #expect(try await engine.verify().isWhole)
    try await engine.close()
  }

  /// Creates a store of format 2: one of the present format without what format 3 added.
  private func secondFormat(values: Int) async throws -> TemporaryDirectory {
    let directory = try await closedStore(values: 0)
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    var batch = WriteBatch()
    for index in 0..<values { batch.put(try KeyName("key\(index)"), Data(repeating: UInt8(index % 251), count: 300)) }
    try await engine.commit(batch, from: StoreOrigin())
    try await SQLiteDatabase(engine: engine).write { transaction in
      try transaction.execute(
        """
        CREATE TABLE kept (key BLOB PRIMARY KEY NOT NULL, revision INTEGER NOT NULL, checksum INTEGER NOT NULL,
          value BLOB NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO kept SELECT key, revision, checksum, value FROM coffer_values;
        DROP TABLE coffer_values; DROP TABLE coffer_records; DROP TABLE coffer_large;
        ALTER TABLE kept RENAME TO coffer_values;
        UPDATE coffer_meta SET value = 2 WHERE name = 'format'
        """)
    }
    try await engine.close()
    return directory
  }

  /// After a kill at any moment, the store has either the old format or the new one, and is intact.
  @Test func aKilledUpgradeLosesNothing() async throws {
    let values = 20_000
    let old = try await secondFormat(values: values)
    for round in 0..<10 {
      let directory = try TemporaryDirectory()
      for name in ["store.db", "store.db-wake"] {
        try FileManager.default.copyItem(atPath: old.path(name), toPath: directory.path(name))
      }
      let helper = try HelperProcess(["hold-open", directory.path("store.db")])
      _ = try helper.line(within: Int32(15 * round))
      helper.kill()
      helper.wait()
      let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
      let report = try await engine.verify()
      #expect(report.isWhole && report.values == values, "\(round): \(report)")
      #expect(try await engine.entry(KeyName("key250"))?.value == Data(repeating: 250, count: 300))
      try await engine.close()
    }
  }

  // MARK: The present format

  private static let largeValue = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
  private static let schemaVersion = ValueAttribute<UInt64>(applicationCode: 128)

  /// Writes the golden file of the present format.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["COFFER_MAKE_GOLDEN"] != nil, "writes a golden file"))
  func makeGolden() async throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden/format-3.db")
    try? FileManager.default.removeItem(at: file)
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    let origin = StoreOrigin()
    var attributes = ValueAttributes()
    attributes[Self.schemaVersion] = 3
    let record = try SystemRecord.Name("golden/record")
    var batch = WriteBatch([
      .put(KeyName("greeting"), Data("hello".utf8), attributes), .putRecord(record, Data("r".utf8)),
    ])
    batch.put(KeyName("plain"), Data())
    batch.put(KeyName("large"), Self.largeValue)
    try await engine.commit(batch, from: origin)
    try await engine.commit(WriteBatch([.putRecord(record, Data("record".utf8))]), from: origin)
    try await engine.commit(WriteBatch([.put(KeyName("gone"), Data("x".utf8))]), from: origin)
    try await engine.commit(WriteBatch([.clear(prefix: KeyName("go"))]), from: origin)
    try await engine.close()
    try FileManager.default.copyItem(atPath: path, toPath: file.path)
  }

  // Requirement 1.69
  @Test func aStoreOfTheThirdFormatOpensForEver() async throws {
    let directory = try golden("format-3")
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(engine.latestRevision == StoreRevision(4))
    let entry = try #require(try await engine.entry(KeyName("greeting")))
    #expect(entry.value == Data("hello".utf8) && entry.revision == StoreRevision(1))
    #expect(entry.attributes[Self.schemaVersion] == 3 && entry.attributes.encoded.count == 11)
    let record = try SystemRecord.Name("golden/record")
    #expect(try await engine.record(record) == SystemRecord(content: Data("record".utf8), revision: StoreRevision(2)))
    #expect(try await engine.summaries().map(\.key.string) == ["greeting", "large", "plain"])
    #expect(try await engine.entry(KeyName("large"))?.value == Self.largeValue)
    #expect(try await engine.summary(of: KeyName("large"))?.size == 5_000)
    let report = try await engine.verify()
    #expect(report.isWhole && report.values == 3, "\(report)")
    var heard: [StoreCommit] = []
    for await change in engine.changes(since: .zero) {
      guard case .commit(let commit) = change else { break }
      heard.append(commit)
      if commit.revision == StoreRevision(4) { break }
    }
    #expect(heard.map(\.changed.records) == [[record], [record], [], []])
    #expect(heard.map(\.changed.keys.count) == [3, 0, 1, 0] && heard[3].changed.prefixes.map(\.string) == ["go"])
    let summary = try await engine.summary(of: KeyName("greeting"))
    #expect(summary?.date == heard[0].date)
    try await engine.close()
  }

  /// A flipped bit in attributes or a record is reported as damage, never read as another attribute or none.
  @Test func aFlippedBitInAttributesAndRecordsIsFound() async throws {
    let whole = try golden("format-3").bytes()
    for (needle, isRecord) in [(Data([128, 8, 0, 3]), false), (Data("record".utf8), true)] {
      // The journal's page follows the page of records and contains their names, too.
      let range = try #require(whole.range(of: needle, options: .backwards, in: 0..<4 * 4_096))
      for index in range {
        let directory = try golden("format-3")
        try directory.change { $0[index] ^= 4 }
        let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
        if isRecord {
          await #expect(throws: StorageError.self) { try await engine.record(SystemRecord.Name("golden/record")) }
        } else {
          await #expect(throws: StorageError.self) { try await engine.entry(KeyName("greeting")) }
          await #expect(throws: StorageError.self) { try await engine.summary(of: KeyName("greeting")) }
        }
        #expect(try await !engine.verify().isWhole)
        try await engine.close()
      }
    }
  }
}
