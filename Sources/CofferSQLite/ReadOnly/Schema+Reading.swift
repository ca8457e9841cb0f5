import CofferCSQLite
import CofferCore

extension Schema {
  /// Makes sure that a store can be read as it is.
  static func checkReadable(_ connection: Connection) throws {
    if try isEmpty(connection) {
      try requireNeverUsed(connection.place)
      throw missing(connection.place.description)
    }
    // The second format had neither attributes nor records; its rows are those of the third.
    guard try checkFormat(connection) >= 2 else {
      throw StorageError(
        .unavailable, "The store was written by an older version and cannot be read before it was brought up.",
        advice: "Open it once, or a copy of it, where it may be written.", backend: connection.place.description)
    }
    try requireSeals(connection)
  }

  /// A database without tables is a new one, unless its wake-up file knows of a store: then the log that had the tables
  /// is gone or cannot be read.
  static func requireNeverUsed(_ place: StorePlace) throws {
    guard let words = WakeWords(ofFileAt: place.wakePath), words.store != 0 else { return }
    let commits = words.announced.map { $0 == .zero ? "" : ", which had \($0.rawValue) commits" } ?? ""
    throw StorageError(
      .damaged, "The database file has no tables, although a store was made in it\(commits).",
      advice:
        "Its log is gone or damaged. Keep a copy of the files, then restore a backup; move them away to start with "
        + "an empty store. Nothing was changed.", backend: place.description)
  }
}
