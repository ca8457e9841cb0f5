import CofferCore
import Foundation

extension History {
  /// Begins a history of its own for a copy: its positions are never those of the store that it was made of.
  static func renewEpoch(_ connection: Connection) throws {
    try connection.execute(
      "UPDATE coffer_meta SET value = \(UInt64.random(in: 1...UInt64(Int64.max))) WHERE name = 'epoch'")
  }

  /// Begins the history of a store that was taken to another state. Its revisions go on beyond every number that was
  /// given out before, with a commit of nobody's that has changed everything.
  static func renewEpoch(_ connection: Connection, beyond announced: StoreRevision, now: Int64) throws -> StoreRevision
  {
    try connection.execute("BEGIN IMMEDIATE")
    defer { connection.rollBack() }
    try renewEpoch(connection)
    var history = try History(connection)
    // Handles that are open see by it that another state was put under them.
    try connection.execute(
      "INSERT OR REPLACE INTO coffer_meta VALUES ('restored', \(Int64.random(in: 1 ... .max)))")
    try history.append(after: max(announced, history.revision), connection, now)
    try connection.execute("COMMIT")
    return history.revision
  }

  /// The number of the last restoration; `nil` when there was none.
  static func restoration(_ connection: Connection) throws -> Int64? {
    try connection.number("SELECT value FROM coffer_meta WHERE name = 'restored'")
  }

  /// A backup was put in the place of what an open handle knows.
  static func wasRestored(_ place: StorePlace) -> StorageError {
    StorageError(
      .closed, "A backup was put in the place of the store while it was open.",
      advice: "Open the store again. What was stored before is in the file that was kept beside it.",
      backend: place.description)
  }
}
