import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Damaged intents in the journal: one that was skipped would lose its staged value, and one that was misread could
/// remove a value.
@Suite(.serialized) struct DamagedIntentTests {
  private static let waiting = SlotID(owner: 1, number: 2)

  enum Damage: String, CaseIterable, Sendable {
    case key, staged
  }

  /// Creates a store whose journal has a damaged intent.
  private func damage(_ directory: StoreDirectory, _ damage: Damage) async throws -> SlotEngine {
    let engine = try await directory.open()
    try overwrite(directory.control("staged/\(Self.waiting)"), "waits")
    let key = damage == .key ? Data([0xFF, 0x41]) : Data("theme".utf8)
    let staged = damage == .key ? Data(repeating: 1, count: 16) : Data([1])
    try await SQLiteDatabase(engine: #require(engine.journal)).write { transaction in
      try transaction.execute(
        """
        INSERT INTO coffer_intents (revision, key, staged, previous)
        VALUES (1, ?1, ?2, (SELECT value FROM coffer_values WHERE key = ?1))
        """, [.blob(key), .blob(staged)])
    }
    return engine
  }

  @Test(arguments: Damage.allCases)
  func isToldAndNothingIsLost(_ kind: Damage) async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await damage(directory, kind)
    await expectError(.unfinished, contains: "journal is damaged") {
      try await engine.commit(WriteBatch([.put(KeyName("keep"), Data("new".utf8))]), from: StoreOrigin())
    }
    #expect(try await engine.entry(KeyName("keep"))?.value == Data("new".utf8))
    #expect(try await engine.entry(KeyName("theme"))?.value == Data("old theme".utf8))
    try await engine.close()
    await expectError(.damaged, contains: "journal is damaged") { try await directory.open().close() }
    #expect(try directory.names(in: "staged").contains("\(Self.waiting)"))
    #expect(try directory.contents()["theme"] == Data("old theme".utf8))
  }

  @Test("Deleting the journal repairs the store, and the staged values are in the quarantine")
  func advice() async throws {
    let directory = try await StoreDirectory.filled()
    try await damage(directory, .key).close()
    for suffix in ["", "-wal", "-shm", "-wake"] { unlink(directory.control("journal.db" + suffix)) }
    let engine = try await directory.open()
    #expect(try await values(engine) == FileScenario.before)
    #expect(try directory.names(in: "quarantine") == ["\(Self.waiting)"])
    try await engine.close()
  }
}
