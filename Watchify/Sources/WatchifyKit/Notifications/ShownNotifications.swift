import CofferSQLite

/// Stores the ids of shown notifications in the database, so that a store's next notification replaces them after a
/// restart as well.
struct ShownNotifications: DesktopReplacements {
  let database: SQLiteDatabase

  func replacement(forThread thread: String) async throws -> DesktopReplacement? {
    try await database.read { transaction in
      try transaction.query(
        "SELECT number, server FROM shown WHERE channel = 'desktop' AND thread = ?1", [.text(thread)]
      ) { DesktopReplacement(id: UInt32(clamping: $0.integer(0)), server: $0.text(1)) }.first
    }
  }

  func remember(_ replacement: DesktopReplacement, forThread thread: String) async throws {
    try await database.write { transaction in
      try transaction.execute(
        "INSERT OR REPLACE INTO shown VALUES ('desktop', ?1, ?2, ?3)",
        [.text(thread), .text(replacement.server), .integer(Int64(replacement.id))])
    }
  }
}

extension DesktopChannel {
  /// Creates a channel that stores the ids of shown notifications in the container's database.
  public init(container: ModelContainer, criticalWhenTimeSensitive: Bool = false) {
    self.init(
      replacements: ShownNotifications(database: container.database),
      criticalWhenTimeSensitive: criticalWhenTimeSensitive)
  }
}
