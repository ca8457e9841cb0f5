import CofferCSQLite
import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Damaged intents in the journal.
@Suite(.serialized) struct SlotDamageTests {
  /// An unreadable version is not taken for a removal, and an invalid key is not skipped.
  @Test(arguments: ["CAST('key' AS BLOB), X'010203'", "X'FF6B', NULL"])
  func anIntentThatCannotBeReadIsDamage(_ keyAndVersion: String) async throws {
    let directory = try TemporaryDirectory()
    let slots = ShelfSlots()
    let engine = try await SlotEngine.open(slots, journalIn: directory.url.path, name: "shelf:damaged")
    let key = KeyName("key")
    try await engine.commit(WriteBatch([.put(key, Data("1".utf8))]), from: StoreOrigin())
    try await engine.close()
    try write(
      """
      INSERT INTO coffer_intents (revision, key, staged, previous)
      SELECT 1, \(keyAndVersion), value FROM coffer_values
      """, to: directory.path("journal.db"))
    let error = await #expect(throws: StorageError.self) {
      _ = try await SlotEngine.open(slots, journalIn: directory.url.path, name: "shelf:damaged")
    }
    #expect(error?.code == .damaged && error?.location == "shelf:damaged", "\(String(describing: error))")
    #expect(try slots.read(.value(key))?.data == Data("1".utf8))
  }

  private func write(_ statement: String, to path: String) throws {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, PageVFS.registeredName) == SQLITE_OK,
      sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK
    else { throw TestFailure(String(cString: sqlite3_errmsg(database))) }
  }
}
