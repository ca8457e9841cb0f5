import CofferCSQLite
import CofferCore

extension Schema {
  /// Verifies that a store can be read without changing it.
  static func checkReadable(_ connection: Connection) throws {
    if try isEmpty(connection) {
      try requireNeverUsed(connection)
      throw missing(connection.file.description)
    }
    // Format 2 lacked attributes and records; its rows are otherwise those of format 3.
    let (meta, format) = try checkFormat(connection)
    guard format >= 2 else {
      throw StorageError(
        .unavailable, "The store was written by an older version and must be upgraded before it can be read.",
        advice: "Open it, or a copy of it, once with write access.", location: connection.file.description)
    }
    try requireSeals(connection, meta)
  }

  /// Verifies that a database without tables is new. If its wake-up file identifies a store, the log that contained the
  /// tables is missing or unreadable.
  /// - Throws: `damaged`.
  static func requireNeverUsed(_ connection: Connection) throws {
    let file = connection.file
    // Another process may have created the tables meanwhile: it identifies the store after that.
    guard let words = WakeWords(ofFileAt: file.wakePath), words.store != 0, try isEmpty(connection) else { return }
    let commits = words.announced.map { $0 == .zero ? "" : ", which had \($0.rawValue) commits" } ?? ""
    throw StorageError(
      .damaged, "The database file has no tables, although a store was created in it\(commits).",
      advice:
        "Its log is missing or damaged. Keep a copy of the files, then restore a backup; move them away to start with "
        + "an empty store. Nothing was changed.", location: file.description)
  }
}
