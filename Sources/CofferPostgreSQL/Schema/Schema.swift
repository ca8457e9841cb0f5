import CofferCore

/// Prepares the tables of a database: creates them, and refuses those of a newer version.
struct Schema {
  let location: String

  /// Whether the schema is there, how many of the tables it has, and the names of those that it lacks.
  private static let look = ServerStatement(
    """
    SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'coffer'), count(c.relname),
      coalesce(string_agg('coffer.' || t.name, ', ' ORDER BY t.name) FILTER (WHERE c.relname IS NULL), '')
    FROM unnest('{format,stores,values,journal,writers,quarantine,members}'::text[]) AS t (name)
    LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'coffer') ON c.relname = t.name
    """)
  private static let version = ServerStatement("SELECT version FROM coffer.format")
  // "coffer" in ASCII. The lock ends with the transaction.
  private static let exclude = ServerStatement("SELECT pg_advisory_xact_lock(109304441038194)")
  private static let patience = ServerStatement("SET LOCAL lock_timeout = '10s'")

  /// Creates the tables if they are missing.
  /// - Throws: `notFound` if they are and must not be created; `notAStore` for a schema of another origin, or if some
  ///   of them are gone; `newerFormat`.
  func prepare(_ connection: ServerConnection, mayCreate: Bool, within: Duration) async throws {
    if try await isPresent(connection, within) { return try await check(connection, within) }
    guard mayCreate else {
      throw StorageError(
        .notFound, "The database has no tables of this library.",
        advice: "Check its name, or create them with 'coffer postgresql init'.", location: location)
    }
    do {
      // Others may be creating them: the lock is taken first, and only later statements see what they have done.
      _ = try await connection.exchange(
        [CommitStatements.begin, Self.patience, Self.exclude].map { ServerCall($0) }, within: within)
      if try await !isPresent(connection, within) {
        _ = try await connection.exchange(
          SchemaText.create.map { ServerCall(ServerStatement($0, isPrepared: false)) }, within: within)
      }
      _ = try await connection.exchange([ServerCall(CommitStatements.commit)], within: within, commits: true)
    } catch {
      connection.abandon()
      throw error
    }
    try await check(connection, within)
  }

  private func isPresent(_ connection: ServerConnection, _ within: Duration) async throws -> Bool {
    let answer = try await connection.exchange([ServerCall(Self.look)], within: within)
    guard let rows = answer.rows.first, rows.count == 1 else { return false }
    let (count, lacking) = (rows.int8(0, 1), rows.text(0, 2))
    if count > 0, !lacking.isEmpty {
      throw StorageError(
        .notAStore, "The database has lost tables of this library: \(lacking).",
        advice: "Restore a backup of the database. 'coffer postgresql init' creates the tables only together.",
        location: location)
    }
    if rows.bool(0, 0), count == 0 {
      throw StorageError(
        .notAStore, "The database has a schema 'coffer' that this library has not created.",
        advice: "Use another database, or rename that schema. Nothing was changed.", location: location)
    }
    return count > 0
  }

  private func check(_ connection: ServerConnection, _ within: Duration) async throws {
    let answer = try await connection.exchange([ServerCall(Self.version)], within: within)
    let found = answer.rows.first.map { $0.count == 1 ? $0.int8(0, 0) : 0 } ?? 0
    guard found > 0 else {
      throw StorageError(
        .damaged, "The table 'coffer.format' has lost its row.", advice: "Restore a backup of the database.",
        location: location)
    }
    guard found <= SchemaText.version else {
      throw StorageError(
        .newerFormat,
        "The tables were written by a newer version: format \(found), this one reads up to \(SchemaText.version).",
        advice: "Update the application that opens it. Nothing was changed.", location: location)
    }
  }
}
