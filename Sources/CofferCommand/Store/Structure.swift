import Coffer
import CofferSQLite
import CofferTerminal

extension StorageEngine {
  /// Checks the whole database. Returns `nil` for a store without one.
  ///
  /// The check reads the whole file once more, concurrently with the writer. It detects what reading the values cannot:
  /// missing rows, a page that two tables claim, a torn journal or a torn table of the application.
  func integrity() async throws -> IntegrityReport? {
    try await database?.verify()
  }

  /// The error that prevents writes to the store, or `nil` for a writable store.
  var obstacle: StorageError? {
    self.as(SQLiteEngine.self)?.obstacleToWriting ?? self.as(SlotEngine.self)?.obstacleToWriting
  }

  /// The engine of the store's database, or of the journal of a store of files; otherwise `nil`.
  var database: SQLiteEngine? { self.as(SQLiteEngine.self) ?? self.as(SlotEngine.self)?.journal }
}

extension LossReport {
  var json: JSON {
    .object([
      ("after", .number(after.rawValue)), ("upTo", .number(upTo.rawValue)),
      ("durableUpTo", .number(durableUpTo.rawValue)), ("message", .text(message)),
    ])
  }
}
