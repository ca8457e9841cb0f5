package import CofferCore
package import Foundation

/// What the owner of a database does with its stores: creates, lists, grants and drops them.
package struct PostgreSQLAdministration: Sendable {
  /// A store of a database.
  package struct Store: Sendable {
    package let name: String
    package let revision: StoreRevision
    package let values: Int
    /// The roles with grants to this store alone, and whether they may write.
    package let members: [(role: String, mayWrite: Bool)]
    package let created: Date
  }

  private let text: String
  private let target: ConnectionTarget
  private let configuration: PostgreSQLEngine.Configuration

  /// - Parameter location: the location of a store, as for `PostgreSQLEngine.open`.
  package init(_ location: String, configuration: PostgreSQLEngine.Configuration = PostgreSQLEngine.Configuration())
    throws
  {
    text = location
    target = try ConnectionTarget(location, store: nil, configuration)
    self.configuration = configuration
  }

  /// The location of the store, without secrets.
  package var location: String { target.description }
  /// The name of the store in the location.
  package var store: String { target.store }

  /// Creates the tables if they are missing, and the store of the location.
  /// - Returns: Whether the store is new.
  package func initialize() async throws -> Bool {
    let isNew = try await connected(changing: true) { connection in
      try await Schema(location: location).prepare(connection, mayCreate: true, within: deadline)
      return try await find(on: connection) == nil
    }
    let engine = try await PostgreSQLEngine.open(text, configuration: configuration)
    try await engine.close()
    return isNew
  }

  private var deadline: Duration { configuration.answerTimeout }

  private static let list = ServerStatement(
    """
    SELECT s.name, s.head, (SELECT count(*) FROM coffer.values v WHERE v.store = s.store AND NOT v.record),
      (extract(epoch FROM s.created_at) * 1000)::bigint,
      (SELECT json_agg(json_build_object('role', m.role, 'mayWrite', m.may_write) ORDER BY m.role)::text
        FROM coffer.members m WHERE m.store = s.store)
    FROM coffer.stores s ORDER BY s.name
    """, isPrepared: false)

  private struct Member: Decodable {
    let role: String
    let mayWrite: Bool
  }

  /// Lists the stores that the role may read.
  package func stores() async throws -> [Store] {
    try await connected { connection in
      let answer = try await connection.exchange([ServerCall(Self.list)], within: deadline)
      guard let rows = answer.rows.first else { return [] }
      return try (0..<rows.count).map { row in
        let members = rows.isNull(row, 4) ? [] : try JSONDecoder().decode([Member].self, from: rows.data(row, 4))
        return Store(
          name: rows.text(row, 0), revision: StoreRevision(head: rows.int8(row, 1)), values: Int(rows.int8(row, 2)),
          members: members.map { ($0.role, $0.mayWrite) }, created: Date(unixMilliseconds: rows.int8(row, 3)))
      }
    }
  }

  private static let member = ServerStatement(
    """
    INSERT INTO coffer.members (role, store, may_write) SELECT $1, s.store, $3 FROM coffer.stores s WHERE s.name = $2
    ON CONFLICT (role, store) DO UPDATE SET may_write = excluded.may_write
    """, [.text, .text, .bool])

  private static let tables = "coffer.stores, coffer.values, coffer.journal, coffer.quarantine"

  /// Grants a role the store of the location: to read it, or to write it too.
  package func grant(_ role: String, mayWrite: Bool) async throws {
    let name = Self.quoted(role)
    var grants = [
      "GRANT USAGE ON SCHEMA coffer TO \(name)",
      "GRANT SELECT ON coffer.format, coffer.members, \(Self.tables) TO \(name)",
    ]
    if mayWrite {
      grants += [
        "GRANT INSERT, UPDATE, DELETE ON coffer.values, coffer.journal, coffer.quarantine, coffer.writers TO \(name)",
        "GRANT SELECT ON coffer.writers TO \(name)", "GRANT UPDATE (head, epoch) ON coffer.stores TO \(name)",
      ]
    }
    try await connected(changing: true) { connection in
      guard try await find(on: connection) != nil else { throw StorageError.storeIsGone(location) }
      let calls = [ServerCall(Self.member, [.text(role), .text(target.store), .bool(mayWrite)])]
      try await connection.transact(
        grants.map { ServerCall(ServerStatement($0, isPrepared: false)) } + calls, within: deadline)
    }
  }

  /// Removes the store of the location with everything in it.
  /// - Returns: `false` if there is no such store.
  package func drop() async throws -> Bool {
    try await connected(changing: true) { connection in
      guard let id = try await find(on: connection) else { return false }
      let deletions = ["members", "quarantine", "journal", "values", "stores"].map {
        ServerCall(
          ServerStatement("DELETE FROM coffer.\($0) WHERE store = $1", [.int8], isPrepared: false), [.int8(id)])
      }
      // The lock is taken first, so that no commit is between the deletions.
      try await connection.transact(
        [ServerCall(CommitStatements.lock, [.int8(id)])] + deletions, within: .seconds(600))
      return true
    }
  }

  private static let identifier = ServerStatement(
    "SELECT store FROM coffer.stores WHERE name = $1", [.text], isPrepared: false)

  private func find(on connection: ServerConnection) async throws -> Int64? {
    let answer = try await connection.exchange(
      [ServerCall(Self.identifier, [.text(target.store)])], within: deadline)
    guard let rows = answer.rows.first, rows.count == 1 else { return nil }
    return rows.int8(0, 0)
  }

  /// Facts of the server for `coffer doctor`.
  package struct Examination: Sendable {
    package let version: Int
    package let role: String
    package let seesEverything: Bool
    package let isEncrypted: Bool
    package let isLocal: Bool
    package let synchronizes: Bool
    package let writesFullPages: Bool
    package let hasChecksums: Bool
    /// `synchronous_standby_names`, and the number of standbys that count for it now; `nil` if the role may not see it.
    package let standbyNames: String
    package let standbys: Int?
    /// The share of dead rows in the values, in percent; 0 while they are too few to matter.
    package let deadRows: Int
  }

  private static let examination = ServerStatement(
    """
    SELECT current_setting('server_version_num')::bigint, current_user::text,
      (SELECT r.rolsuper OR r.rolbypassrls FROM pg_roles r WHERE r.rolname = current_user),
      coalesce((SELECT s.ssl FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()), false),
      inet_client_addr() IS NULL OR inet_client_addr() << '127.0.0.0/8' OR inet_client_addr() = '::1',
      current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
      current_setting('data_checksums')::boolean, current_setting('synchronous_standby_names'),
      CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE')
        THEN (SELECT count(*) FROM pg_stat_replication r WHERE r.sync_state IN ('sync', 'quorum')) END,
      coalesce((SELECT (100 * t.n_dead_tup / greatest(1, t.n_live_tup + t.n_dead_tup)) FROM pg_stat_user_tables t
        WHERE t.schemaname = 'coffer' AND t.relname = 'values' AND t.n_dead_tup > 10000), 0)
    """, isPrepared: false)

  /// Asks the server for what matters to the safety of a store.
  package func examine() async throws -> Examination {
    try await connected { connection in
      let answer = try await connection.exchange([ServerCall(Self.examination)], within: deadline)
      guard let rows = answer.rows.first, rows.count == 1 else { throw StorageError.storeIsGone(location) }
      return Examination(
        version: Int(rows.int8(0, 0)), role: rows.text(0, 1), seesEverything: rows.bool(0, 2),
        isEncrypted: rows.bool(0, 3), isLocal: rows.bool(0, 4), synchronizes: rows.bool(0, 5),
        writesFullPages: rows.bool(0, 6), hasChecksums: rows.bool(0, 7), standbyNames: rows.text(0, 8),
        standbys: rows.isNull(0, 9) ? nil : Int(rows.int8(0, 9)), deadRows: Int(rows.int8(0, 10)))
    }
  }

  private func connected<R: Sendable>(
    changing: Bool = false, _ body: (ServerConnection) async throws -> R
  ) async throws -> R {
    // Without the end, a database that cannot be reached would be tried again and again.
    let database = PostgreSQLDatabase(target, configuration)
    if changing { database.demandConfirmation() }
    do {
      let connection = try await database.open()
      defer { connection.abandon() }
      let result = try await body(connection)
      await database.close()
      return result
    } catch {
      await database.close()
      guard let failure = error as? ExchangeFailure else { throw error }
      if changing, case .lost(let loss) = failure, loss.mayHaveRun {
        throw StorageError.unanswered(location, loss.reason)
      }
      throw database.error(failure, at: location)
    }
  }

  private static func quoted(_ identifier: String) -> String { "\"" + identifier.replacing("\"", with: "\"\"") + "\"" }
}
