import CofferCore
import Foundation

extension History {
  /// Draws a new epoch for a copy, so that its positions never match those of the original store.
  static func renewEpoch(_ connection: Connection) throws {
    try connection.execute(
      "UPDATE coffer_meta SET value = \(UInt64.random(in: 1...UInt64(Int64.max))) WHERE name = 'epoch'")
  }

  /// Begins a new epoch for a store whose state was replaced.
  ///
  /// Its revisions continue after `announced`, with a commit without origin that selects everything as changed.
  /// - Returns: The revision of that commit.
  static func renewEpoch(_ connection: Connection, beyond announced: StoreRevision, now: Int64) throws -> StoreRevision
  {
    try connection.execute("BEGIN IMMEDIATE")
    defer { connection.rollBack() }
    try renewEpoch(connection)
    var history = try History(connection)
    // Open handles detect by this number that the state was replaced.
    try connection.execute(
      "INSERT OR REPLACE INTO coffer_meta VALUES ('restored', \(Int64.random(in: 1 ... .max)))")
    try history.append(after: max(announced, history.revision), connection, now)
    try connection.execute("COMMIT")
    return history.revision
  }

  /// Returns the error of a handle whose store was replaced by a backup.
  static func wasRestored(_ file: StoreFile) -> StorageError {
    StorageError(
      .closed, "The store was replaced by a backup while it was open.",
      advice: "Open the store again. The replaced state, if it was kept, is in a file beside the store.",
      location: file.description)
  }
}
