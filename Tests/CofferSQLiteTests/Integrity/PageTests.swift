import CofferCSQLite
import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Each page is verified by its checksum as it is read.
@Suite(.blocking, .serialized) struct PageTests {
  /// A regression test: after one flipped bit, 39 of 41 acknowledged values were "absent", and no damage was reported.
  @Test func aFlippedBitInTheLogOfAnOpenStoreIsNoAbsence() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    // The log is kept when the writer exits, since this process has the store open too.
    let engine = try await SQLiteEngine.open(at: path)
    let writer = try HelperProcess(["write", path, "full", "p", "41"])
    while try writer.line() != "ack 40" {}
    writer.wait()
    let log = try directory.bytes("store.db-wal")
    var damaged = 0
    for frame in newestFrames(log) {
      try directory.change("store.db-wal") { $0[32 + frame * logFrame + 24 + 3_000] ^= 0x10 }
      let reader = try HelperProcess(["read-pairs", path, "p", "41"])
      let lines = try reader.lines()
      reader.wait()
      // A store whose schema or journal cannot be read does not open, and reports the damage.
      #expect(lines.count == 82 || lines.last?.hasPrefix("error damaged") == true, "\(lines.last ?? "")")
      #expect(!lines.contains("absent") && !lines.contains("wrong"), "frame \(frame)")
      damaged += lines.filter { $0.contains("damaged") }.count
      try directory.change("store.db-wal") { $0 = log }
    }
    #expect(damaged > 0)
    try await engine.close()
  }

  /// Returns the frames with the newest state of each page, and an older one.
  private func newestFrames(_ log: Data) -> [Int] {
    var newest: [Data: Int] = [:]
    for frame in 0..<(log.count - 32) / logFrame {
      let header = log[32 + frame * logFrame..<32 + frame * logFrame + 24]
      // Frames beyond the end of the log have other salts than the log's header.
      guard header[header.startIndex + 8..<header.startIndex + 16] == log[16..<24] else { break }
      newest[header.prefix(4)] = frame
    }
    return ([0] + newest.values).sorted()
  }

  @Test func aFlippedBitInAKeyIsDamageAndNoAbsence() async throws {
    let directory = try await closedStore(values: 40)
    try directory.change { bytes in
      let range = try #require(bytes.range(of: Data("key17".utf8)))
      bytes[range.lowerBound + 1] ^= 0x04
    }
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let error = await #expect(throws: StorageError.self) { try await engine.entry(KeyName("key17")) }
    #expect(error?.code == .damaged)
    #expect(try await engine.entry(KeyName("key16"))?.value == Data("value-16!".utf8))
    let report = try await engine.verify()
    #expect(!report.isWhole && report.damagedPages.count == 1 && report.values == 40)
    try await engine.close()
  }

  /// A regression test: the bit makes the key text, which compares as less than every other, so a lookup passed it.
  @Test(arguments: [StoreAccess.readWrite, .readOnly])
  func aFlippedBitInTheTypeOfAKeyIsNoAbsence(_ access: StoreAccess) async throws {
    let directory = try await closedStore(values: 40)
    try directory.change { bytes in
      let key = try #require(bytes.range(of: Data("key17".utf8))).lowerBound
      // The header of the row: its size and six types, of which that of the key is the first.
      try #require(bytes[key - 7] == 7 && bytes[key - 6] == 12 + 2 * 5)
      bytes[key - 6] ^= 1
    }
    var configuration = SQLiteEngine.Configuration()
    configuration.access = access
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    for index in 0..<40 {
      #expect(try await engine.entry(KeyName("key\(index)"))?.value == Data("value-\(index)!".utf8))
    }
    let error = await #expect(throws: StorageError.self) { try await engine.entry(KeyName("never")) }
    #expect(error?.code == .damaged)
    if access == .readWrite { #expect(try await engine.verify().damagedPages.count == 1) }
    try await engine.close()
  }

  @Test func aRowThatIsGoneShows() async throws {
    let directory = try await closedStore(values: 40)
    try sql(directory.path("store.db"), "DELETE FROM coffer_values WHERE key = CAST('key17' AS BLOB)", vfs: "coffer")
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let report = try await engine.verify()
    #expect(report.missing == 1 && report.damagedPages.isEmpty && !report.isWhole, "\(report.problems)")
    try await engine.acceptLoss()
    #expect(try await engine.verify().isWhole)
    try await engine.close()
  }

  @Test func aRowOfAnEarlierStateShows() async throws {
    let directory = try await closedStore(values: 3)
    let path = directory.path("store.db")
    try sql(path, "CREATE TABLE kept AS SELECT * FROM coffer_values", vfs: "coffer")
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(WriteBatch([.put(KeyName("key1"), Data("new".utf8))]), from: StoreOrigin())
    try await engine.close()
    try sql(
      path,
      """
      DELETE FROM coffer_values WHERE key = CAST('key1' AS BLOB);
      INSERT INTO coffer_values SELECT * FROM kept WHERE key = CAST('key1' AS BLOB)
      """, vfs: "coffer")
    let again = try await SQLiteEngine.open(at: path)
    let report = try await again.verify()
    #expect(report.missing == 0 && !report.rowsAreComplete)
    try await again.close()
  }

  /// The header byte at offset 20 declares whether pages have checksums.
  @Test func aHeaderThatDeniesChecksumsIsDamage() async throws {
    let directory = try await closedStore(values: 10)
    for bit in 0..<8 {
      try directory.change { $0[20] ^= 1 << bit }
      await #expect(throws: StorageError.self, "bit \(bit)") {
        let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
        try await engine.close()
      }
      try directory.change { $0[20] ^= 1 << bit }
    }
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(try await engine.verify().isWhole)
    try await engine.close()
  }

  /// SQLite reads zeros beyond the end of a file.
  @Test func aFileThatWasCutHasNoEmptyPages() async throws {
    let directory = try await closedStore(values: 400)
    let size = try directory.bytes().count
    try directory.change { $0.removeLast(size / 2) }
    let answers = try await readAll(directory, 400)
    #expect(answers.absent == 0 && answers.damaged > 0, "\(answers)")
  }

  @Test func aZeroedEndOfAPageIsDamage() async throws {
    let directory = try await closedStore(values: 400)
    let count = try directory.bytes().count / 4_096
    for page in 1..<count {
      let before = try directory.bytes()
      try directory.change { bytes in
        for index in (page + 1) * 4_096 - 600..<(page + 1) * 4_096 { bytes[index] = 0 }
      }
      let answers = try? await readAll(directory, 400)
      #expect(
        answers.map { $0.absent == 0 && $0.wrong == 0 } ?? true, "page \(page + 1): \(String(describing: answers))")
      try directory.change { $0 = before }
    }
  }

  /// SQLite's own shell opens a store whose process was killed, and copies the log into the database without writing
  /// checksums.
  @Test func aLogThatAnotherProgramHasCopiedIsNoDamage() async throws {
    let directory = try killedStore(commits: 30)
    let path = directory.path("store.db")
    try sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    for _ in 0..<2 {
      let engine = try await SQLiteEngine.open(at: path)
      #expect(try await engine.entry(KeyName("p/left/29")) != nil)
      let report = try await engine.verify()
      #expect(report.isWhole && report.hasPageChecksums, "\(report.problems)")
      try await engine.close()
    }
  }

  @Test func whatAnotherProgramHasChangedIsDamageUntilItIsAccepted() async throws {
    let directory = try await closedStore(values: 40)
    let path = directory.path("store.db")
    try sql(path, "DELETE FROM coffer_values WHERE key = CAST('key17' AS BLOB)")
    let engine = try await SQLiteEngine.open(at: path)
    await #expect(throws: StorageError.self) { try await engine.entry(KeyName("key17")) }
    #expect(try await engine.entry(KeyName("key16")) != nil)
    try await engine.acceptLoss()
    #expect(try await engine.entry(KeyName("key17")) == nil)
    #expect(try await engine.verify().isWhole)
    try await engine.close()
  }

  /// Damage on a page that every opening reads, with the store's metadata.
  @Test func aStoreThatDoesNotOpenIsWrittenAnew() async throws {
    let directory = try await closedStore(values: 40)
    let path = directory.path("store.db")
    try sql(path, "UPDATE coffer_meta SET value = value + 1 WHERE name = 'created_at'")
    let error = await #expect(throws: StorageError.self) { try await SQLiteEngine.open(at: path) }
    #expect(error?.code == .damaged)
    try await SQLiteEngine.salvage(at: path)
    let engine = try await SQLiteEngine.open(at: path)
    #expect(try await engine.entry(KeyName("key17"))?.value == Data("value-17!".utf8))
    #expect(try await engine.verify().isWhole)
    try await engine.close()
  }

  /// A transaction larger than its connection's page cache writes pages to the log early and overwrites them there.
  @Test func aTransactionLargerThanMemoryReadsItsOwnPages() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let database = SQLiteDatabase(engine: engine)
    try await database.write { transaction in
      try transaction.execute("CREATE TABLE big (id INTEGER PRIMARY KEY, text BLOB)")
      for round in 0..<3 {
        for id in 0..<6_000 {
          try transaction.execute(
            "INSERT OR REPLACE INTO big VALUES (?1, ?2)",
            [.integer(Int64(id)), .blob(Data(repeating: UInt8(round), count: 3_000))])
        }
      }
      let wrong = try transaction.query("SELECT count(*) FROM big WHERE substr(text, 1, 1) <> x'02'") { $0.integer(0) }
      #expect(wrong == [0])
    }
    let count = try await database.read { try $0.query("SELECT count(*) FROM big") { $0.integer(0) } }
    #expect(count == [6_000])
    #expect(try await engine.verify().isWhole)
    try await engine.close()
  }

  // Requirement 1.67
  @Test func aStoreOfTheFirstFormatIsBroughtUp() async throws {
    let directory = try TemporaryDirectory()
    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Golden/format-1.db")
    try FileManager.default.copyItem(at: golden, to: directory.url.appendingPathComponent("store.db"))
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let report = try await engine.verify()
    #expect(report.isWhole && report.hasPageChecksums && report.values > 0, "\(report)")
    try await engine.close()
    let bytes = try directory.bytes()
    #expect(bytes[20] == 8)
    #expect(bytes.suffix(8) != Data(count: 8))
  }

  private struct Answers {
    var right = 0
    var absent = 0
    var wrong = 0
    var damaged = 0
  }

  private func readAll(_ directory: TemporaryDirectory, _ count: Int) async throws -> Answers {
    var answers = Answers()
    let engine: SQLiteEngine
    do {
      engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    } catch let error as StorageError where error.code == .damaged {
      answers.damaged = count
      return answers
    }
    for index in 0..<count {
      do {
        switch try await engine.entry(KeyName("key\(index)"))?.value {
        case nil: answers.absent += 1
        case Data("value-\(index)!".utf8): answers.right += 1
        default: answers.wrong += 1
        }
      } catch let error as StorageError where error.code == .damaged {
        answers.damaged += 1
      }
    }
    try await engine.close()
    return answers
  }
}
