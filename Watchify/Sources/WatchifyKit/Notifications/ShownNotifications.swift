import CofferDatabase

/// Keeps in the database what is on the screen, so that a store's next notification takes its place, also after a
/// restart.
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
  /// A channel that keeps in a container what it has shown.
  public init(container: ModelContainer, criticalWhenTimeSensitive: Bool = false) {
    self.init(
      replacements: ShownNotifications(database: container.database),
      criticalWhenTimeSensitive: criticalWhenTimeSensitive)
  }
}
