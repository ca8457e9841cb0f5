import Coffer
import CofferTerminal

extension StorageEngine {
  /// A check of the whole database; `nil` for a store that has none.
  ///
  /// It reads the whole file once more, beside the writer. It finds what no reading of values can: rows that are
  /// missing, a page that two tables claim, a journal or an application's table that is torn.
  func integrity() async throws -> IntegrityReport? {
    try await database?.verify()
  }

  /// Why nothing can be written to the store; `nil` where it can.
  var obstacle: StorageError? {
    self.as(SQLiteEngine.self)?.obstacleToWriting ?? self.as(SlotEngine.self)?.obstacleToWriting
  }

  /// The database of a store; one of files has one too, its journal.
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
