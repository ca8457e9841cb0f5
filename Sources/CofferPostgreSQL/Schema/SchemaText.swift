/// The statements that create the tables of format 1. `docs/formats/postgresql.md` describes them column by column.
///
/// There is no sequence: a number that is drawn before a lock is held can become visible after a later one. There is no
/// foreign key: each inserted row would lock the row of its store, which every commit updates.
enum SchemaText {
  static let create =
    [
      "CREATE SCHEMA coffer",
      "REVOKE ALL ON SCHEMA coffer FROM PUBLIC",
      "CREATE TABLE coffer.format (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), version bigint NOT NULL)",
      // Each commit updates a row of `stores`: with space left in the page, it stays in that page (HOT).
      """
      CREATE TABLE coffer.stores (
        store bigint PRIMARY KEY, name text NOT NULL, head bigint NOT NULL DEFAULT 0, epoch bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      ) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
      """,
      "CREATE UNIQUE INDEX stores_name ON coffer.stores (name)",
      // Values are kept as they are: what is worth compressing is compressed before it is encrypted.
      """
      CREATE TABLE coffer.values (
        store bigint NOT NULL, record boolean NOT NULL, key bytea NOT NULL, revision bigint NOT NULL,
        checksum bigint NOT NULL, expires bigint, attributes bytea, value bytea NOT NULL,
        PRIMARY KEY (store, record, key)
      ) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05)
      """,
      "ALTER TABLE coffer.values ALTER COLUMN key SET STORAGE MAIN, ALTER COLUMN value SET STORAGE EXTERNAL",
      "CREATE INDEX values_expires ON coffer.values (store, expires) WHERE expires IS NOT NULL",
      """
      CREATE TABLE coffer.journal (
        store bigint NOT NULL, revision bigint NOT NULL, epoch bigint NOT NULL, transaction bytea NOT NULL,
        origin bytea NOT NULL, committed_at bigint NOT NULL, changed bytea NOT NULL, checksum bigint NOT NULL,
        PRIMARY KEY (store, revision)
      ) WITH (autovacuum_vacuum_scale_factor = 0.05)
      """,
      """
      CREATE TABLE coffer.writers (
        writer uuid PRIMARY KEY, attempt bigint NOT NULL, revision bigint NOT NULL, is_fenced boolean NOT NULL,
        role name NOT NULL DEFAULT current_user, seen_at timestamptz NOT NULL DEFAULT now()
      ) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
      """,
      """
      CREATE TABLE coffer.quarantine (
        store bigint NOT NULL, key bytea NOT NULL, revision bigint NOT NULL, checksum bigint NOT NULL,
        found_at bigint NOT NULL, value bytea NOT NULL, PRIMARY KEY (store, key, revision)
      )
      """,
      // What a role may do in a store; the store 0 stands for all.
      """
      CREATE TABLE coffer.members (
        role name NOT NULL, store bigint NOT NULL, may_write boolean NOT NULL, PRIMARY KEY (role, store)
      )
      """,
      "INSERT INTO coffer.members VALUES (current_user, 0, true)",
      "INSERT INTO coffer.format (version) VALUES (\(version))",
    ] + policies

  /// The format that this build writes, and the newest one that it reads.
  static let version: Int64 = 1

  /// The second lock: every statement names its store, and the server shows no row of another one. `FORCE` includes the
  /// owner of the tables; superusers and roles with `BYPASSRLS` see everything.
  ///
  /// The subqueries depend on no row, so that the server evaluates them once per statement.
  private static let policies: [String] = {
    let tables = ["stores", "values", "journal", "quarantine"]
    var policies = (tables + ["members", "writers"]).map {
      "ALTER TABLE coffer.\($0) ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
    }
    for table in tables {
      policies.append("CREATE POLICY reads ON coffer.\(table) FOR SELECT USING (\(isMember()))")
      let mayWrite = isMember("AND m.may_write")
      policies.append("CREATE POLICY updates ON coffer.\(table) FOR UPDATE USING (\(mayWrite))")
      policies.append("CREATE POLICY deletes ON coffer.\(table) FOR DELETE USING (\(mayWrite))")
      guard table != "stores" else { continue }
      policies.append("CREATE POLICY inserts ON coffer.\(table) FOR INSERT WITH CHECK (\(mayWrite))")
    }
    return policies + [
      "CREATE POLICY inserts ON coffer.stores FOR INSERT TO CURRENT_USER WITH CHECK (true)",
      "CREATE POLICY own ON coffer.members FOR SELECT USING (role = current_user)",
      "CREATE POLICY administered ON coffer.members TO CURRENT_USER USING (true)",
      "CREATE POLICY own ON coffer.writers USING (role = current_user)",
    ]
  }()

  private static func isMember(_ condition: String = "") -> String {
    let own = "SELECT m.store FROM coffer.members m WHERE m.role = current_user \(condition)"
    return "EXISTS (\(own) AND m.store = 0) OR store IN (\(own))"
  }
}
