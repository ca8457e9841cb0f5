import CofferCore
import Foundation

/// Writes the rows of values, and maintains their count and digest (``LiveRows``).
///
/// Not thread-safe; the committer owns it.
final class RowWriter {
  private let connection: Connection
  private let counter: LiveRowCounter
  private var compiled: RowStatements?
  private var putExpiry: Statement?
  private lazy var large = Result { try LargeValues(connection) }
  private lazy var records = Result { try RecordRows(connection) }
  private lazy var clearRange = Result { try connection.prepare(SQL.clearRange) }
  private lazy var findRow = Result { try connection.prepare(SQL.findRow) }
  private lazy var rewriteValue = Result { try connection.prepare(SQL.rewrite) }

  private enum SQL {
    static let rewrite = """
      UPDATE coffer_values SET value = ?2, checksum = ?3, large = NULL
      WHERE key = ?1 AND \(LiveRowCounter.removing)
      """
    static let findRow = "SELECT \(ValueRow.columns) FROM coffer_values WHERE key = ?1"
    static let clearRange = "DELETE FROM coffer_values WHERE key >= ?1 AND key < ?2 AND \(LiveRowCounter.removing)"
  }

  init(_ connection: Connection) throws {
    self.connection = connection
    counter = try LiveRowCounter(connection)
  }

  private func statements() throws -> RowStatements {
    if let compiled { return compiled }
    let statements = try RowStatements(connection)
    compiled = statements
    return statements
  }

  /// The count and digest as changed by the current transaction; a caller that rolls back must restore them.
  var live: LiveRows {
    get { counter.rows }
    set { counter.rows = newValue }
  }

  /// Recomputes count and digest from the existing rows. Linear in their number.
  func count() throws -> LiveRows {
    try count(in: "coffer_values", from: count(in: "coffer_records"))
  }

  private func count(in table: String, from known: LiveRows = LiveRows()) throws -> LiveRows {
    let rows = try connection.prepare("SELECT revision, checksum FROM \(table)")
    defer { rows.reset() }
    var found = known
    while try rows.step() { found.add(LiveRows.digest(revision: rows.integer(0), checksum: rows.integer(1))) }
    return found
  }

  /// Replaces a value and keeps its revision and its attributes.
  /// - Returns: Whether the key exists.
  func rewrite(_ key: KeyName, _ value: Data) throws -> Bool {
    guard let (revision, attributes) = try find(key) else { return false }
    let content = attributes.withUnsafeBytes { including($0, in: checksum(key, value)) }
    let sum = Int64(bound(content, to: revision))
    let statement = try rewriteValue.get()
    try key.withBytes { name in
      try value.withUnsafeBytes { content in
        statement.bind(1, borrowing: name)
        statement.bind(2, borrowing: content)
        statement.bind(3, sum)
        defer { statement.resetAndClearBindings() }
        _ = try statement.step()
      }
    }
    try removeLarge()
    live.add(LiveRows.digest(revision: Int64(bitPattern: revision.rawValue), checksum: sum))
    return true
  }

  /// Removes the large values of removed rows, except one that was just written.
  private func removeLarge(keeping kept: Int64? = nil) throws {
    let removed = counter.takeLarge()
    guard !removed.isEmpty else { return }
    for value in removed where value.id != kept { try large.get().remove(value) }
  }

  /// Applies one operation.
  func apply(_ operation: WriteBatch.Operation, at revision: StoreRevision) throws {
    switch operation {
    case .put(let key, let value, let attributes):
      try put(key, value, attributes, at: revision)
    case .delete(let key):
      try run(try statements().delete, with: key)
      try removeLarge()
    case .clear(nil):
      try statements().clearAll.run()
      try large.get().removeAll()
      live = try count(in: "coffer_records")
    case .clear(let prefix?):
      try clear(prefix)
      try removeLarge()
    case .putRecord(let name, let content):
      let sum = Int64(bound(checksum(name.key, content), to: revision))
      try records.get().put(name, content, checksum: sum, at: revision)
      live.add(LiveRows.digest(revision: Int64(bitPattern: revision.rawValue), checksum: sum))
    case .deleteRecord(let name): try records.get().delete(name)
    case .require, .requireRecord: break
    }
  }

  private func put(_ key: KeyName, _ value: Data, _ attributes: ValueAttributes, at revision: StoreRevision) throws {
    let id = value.count > ValueRow.largestInPlace ? try putLarge(key, value, attributes) : nil
    let sum = try value.withUnsafeBytes { content in
      let sum = attributes.encoded.withUnsafeBytes { including($0, in: checksum(key, content)) }
      let bound = Int64(bound(sum, to: revision))
      try put(key, content, attributes, bound, at: revision, large: id)
      return bound
    }
    try removeLarge(keeping: id)
    if !attributes.isEmpty, let expires = attributes.expires { try schedule(key, expires) }
    live.add(LiveRows.digest(revision: Int64(bitPattern: revision.rawValue), checksum: sum))
  }

  /// Stores a large value, and returns its identifier. It overwrites the present one in its place, so that one is
  /// looked up before.
  private func putLarge(_ key: KeyName, _ value: Data, _ attributes: ValueAttributes) throws -> Int64 {
    if SealedValue.isRefused(value, attributes), try holdsEnvelope(key) { try requireRing(for: key) }
    return try large.get().put(value, for: key)
  }

  private func put(
    _ key: KeyName, _ content: UnsafeRawBufferPointer, _ attributes: ValueAttributes, _ sum: Int64,
    at revision: StoreRevision, large id: Int64?
  ) throws {
    let put = try statements().put
    try key.withBytes { name in
      put.bind(1, borrowing: name)
      put.bind(2, Int64(bitPattern: revision.rawValue))
      put.bind(3, sum)
      if attributes.isEmpty {
        put.bindNull(5)
      } else {
        attributes.encoded.withUnsafeBytes { put.bind(5, copying: $0) }
      }
      if let id { put.bind(6, id) } else { put.bindNull(6) }
      put.bind(4, borrowing: id == nil ? content : UnsafeRawBufferPointer(start: nil, count: 0))
      defer { put.reset() }  // all parameters are bound again before the next use
      if id == nil, !attributes.isSealed, !SealedValue.isPresent(in: content) {
        guard try counter.keepingSealed({ _ = try put.step() }) else { return }
        put.reset()
        try requireRing(for: key)
      }
      _ = try put.step()
    }
  }

  private func holdsEnvelope(_ key: KeyName) throws -> Bool {
    guard let attributes = try find(key)?.attributes, !attributes.isEmpty else { return false }
    return ValueAttributes(encoded: attributes)?.isSealed == true
  }

  /// Refuses to replace an envelope with a plain value in a store that has lost its key ring.
  private func requireRing(for key: KeyName) throws {
    guard try recordRevision(of: .keyRing) == nil else { return }
    throw StorageError.ringIsLost(location: connection.file.description, key: key)
  }

  func recordRevision(of name: SystemRecord.Name) throws -> StoreRevision? { try records.get().revision(of: name) }

  private func clear(_ prefix: KeyName) throws {
    let statement = try clearRange.get()
    try prefix.withBytes { lower in
      try prefix.successor.withUnsafeBytes { upper in
        statement.bind(1, borrowing: lower)
        statement.bind(2, borrowing: upper)
        defer { statement.resetAndClearBindings() }
        _ = try statement.step()
      }
    }
  }

  private func run(_ statement: Statement, with key: KeyName) throws {
    try key.withBytes { name in
      statement.bind(1, borrowing: name)
      defer { statement.resetAndClearBindings() }
      _ = try statement.step()
    }
  }

  /// Returns the revision of a key, or `nil` if it is absent.
  /// - Parameter date: the date at which an expired value is absent; `nil` for a value that is stored at all.
  func revision(of key: KeyName, presentAt date: Date?) throws -> StoreRevision? {
    guard let (revision, attributes) = try find(key) else { return nil }
    guard let date, !attributes.isEmpty,
      ValueAttributes(encoded: attributes)?.isExpired(at: date) == true
    else { return revision }
    // A damaged row is not absent, whatever its attributes say.
    let statement = try findRow.get()
    return try key.withBytes { name in
      statement.bind(1, borrowing: name)
      defer { statement.resetAndClearBindings() }
      return try statement.step() && ValueRow(statement, 0).isExpired(key, at: date) ? nil : revision
    }
  }

  private func find(_ key: KeyName) throws -> (revision: StoreRevision, attributes: [UInt8])? {
    let findRevision = try statements().findRevision
    return try key.withBytes { name in
      findRevision.bind(1, borrowing: name)
      defer { findRevision.resetAndClearBindings() }
      guard try findRevision.step() else { return nil }
      return (StoreRevision(UInt64(bitPattern: findRevision.integer(0))), Array(findRevision.bytes(1)))
    }
  }

  /// Records when a value expires, for the sweep. The table is created with the first such value.
  private func schedule(_ key: KeyName, _ expires: Date) throws {
    if let putExpiry {
      do { return try run(putExpiry, key, expires) } catch {
        // After some errors, such as a full disk, SQLite has ended the transaction: a second try would be a commit.
        guard connection.isInTransaction else { throw error }
        self.putExpiry = nil  // The transaction that created the table may have been rolled back.
      }
    }
    if try !connection.hasExpiries() { try connection.execute(ExpiryTable.create) }
    let statement = try connection.prepare(ExpiryTable.put)
    try run(statement, key, expires)
    putExpiry = statement
  }

  private func run(_ statement: Statement, _ key: KeyName, _ expires: Date) throws {
    try key.withBytes { name in
      statement.bind(1, borrowing: name)
      statement.bind(2, expires.unixMilliseconds)
      defer { statement.resetAndClearBindings() }
      _ = try statement.step()
    }
  }
}

/// The statements of most operations, compiled with the first one: many openings are followed by reads only.
private final class RowStatements {
  let put, delete, clearAll, findRevision: Statement

  init(_ connection: Connection) throws {
    put = try connection.prepare(
      """
      INSERT INTO coffer_values (key, revision, checksum, attributes, large, value) VALUES (?1, ?2, ?3, ?5, ?6, ?4)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum,
      attributes = excluded.attributes, large = excluded.large, value = excluded.value
      WHERE \(LiveRowCounter.removing)
      """)
    delete = try connection.prepare("DELETE FROM coffer_values WHERE key = ?1 AND \(LiveRowCounter.removing)")
    clearAll = try connection.prepare("DELETE FROM coffer_values")
    findRevision = try connection.prepare("SELECT revision, attributes FROM coffer_values WHERE key = ?1")
  }
}
