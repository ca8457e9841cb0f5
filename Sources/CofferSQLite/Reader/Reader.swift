import CofferCSQLite
package import CofferCore
import Foundation

/// A read connection and its prepared statements.
///
/// Sendable by convention: the ``ReaderPool`` lends a reader to one borrower at a time, and a borrower never uses it
/// concurrently, so no two threads are ever inside. The pool's lock orders one borrower after the other.
package final class Reader: @unchecked Sendable {
  let connection: Connection
  private let get: Statement
  /// The columns of a value row; a store that is open for reading only may have a format without attributes.
  private let columns: String
  package private(set) lazy var statements = StatementCache(connection)
  private lazy var newestRevision = Result { try connection.prepare("SELECT max(revision) FROM coffer_journal") }
  private lazy var oneSummary = Result { try connection.prepare("\(Listed.summaries.query(columns)) WHERE key = ?1") }
  private lazy var journal = Result { try JournalReader(connection) }
  private var pages = [Statement?](repeating: nil, count: 8)
  private let onDamage: @Sendable (Finding) -> Void

  /// The size of a page's values in bytes at which the page ends, which bounds pages of large values.
  private static let pageBytes = 16 << 20

  convenience init(_ file: StoreFile, onDamage: @escaping @Sendable (Finding) -> Void) throws {
    try self.init(Connection(file), onDamage)
  }

  init(_ connection: Connection, _ onDamage: @escaping @Sendable (Finding) -> Void) throws {
    self.connection = connection
    self.onDamage = onDamage
    try connection.execute("PRAGMA query_only = ON; PRAGMA cache_size = -8192")
    columns = connection.file.reading == nil ? ValueRow.columns : try ValueRow.columns(in: connection)
    get = try connection.prepare("SELECT \(columns) FROM coffer_values WHERE key = ?1")
  }

  /// Begins a read transaction and returns the revision of its state.
  func beginSnapshot() throws -> StoreRevision {
    try connection.execute("BEGIN")
    do {
      return try revision()
    } catch {
      connection.rollBack()
      throw error
    }
  }

  func endSnapshot() { connection.rollBack() }

  func revision() throws -> StoreRevision {
    let newestRevision = try newestRevision.get()
    defer { newestRevision.reset() }
    return try newestRevision.step() ? StoreRevision(UInt64(bitPattern: newestRevision.integer(0))) : .zero
  }

  func entry(_ key: KeyName) throws -> StoreEntry? {
    try key.withBytes { name in
      get.bind(1, borrowing: name)
      defer { get.reset() }  // its parameter is bound again before each use
      guard try get.step() else { return nil }
      return try entry(key, in: get, firstColumn: 0)
    }
  }

  /// Returns the entry of a key without relying on the order of the rows. Linear in their number.
  func entryInAnyOrder(_ key: KeyName) throws -> StoreEntry? {
    let scan = try connection.prepare("SELECT \(columns) FROM coffer_values WHERE CAST(key AS BLOB) = ?1")
    return try key.withBytes { name in
      scan.bind(1, borrowing: name)
      defer { scan.resetAndClearBindings() }
      return try scan.step() ? try entry(key, in: scan, firstColumn: 0) : nil
    }
  }

  /// Returns the row of a key if it is damaged, without reporting it; `nil` if the row is intact or missing.
  func damagedRow(of key: KeyName) throws -> Finding? {
    try key.withBytes { name in
      get.bind(1, borrowing: name)
      defer { get.resetAndClearBindings() }
      guard try get.step() else { return nil }
      let row = ValueRow(get, 0)
      return row.isWhole(key) && ValueAttributes(encoded: row.attributes) != nil ? nil : Finding(key, row)
    }
  }

  /// Calls `body` with the revision and bytes of a value, without copying them; `nil` if the key is absent. A damaged
  /// value is passed as revision zero and no bytes.
  package func withValue<R>(_ key: KeyName, _ body: (StoreRevision, UnsafeRawBufferPointer) throws -> R) throws -> R? {
    try key.withBytes { name in
      get.bind(1, borrowing: name)
      defer { get.resetAndClearBindings() }
      guard try get.step() else { return nil }
      let row = ValueRow(get, 0)
      return try row.isWhole(key) ? body(row.revision, row.value) : body(.zero, .init(start: nil, count: 0))
    }
  }

  /// Calls `body` with every key, in order, and the bytes of its value; `nil` for a damaged row.
  package func forEachValue(_ body: (KeyName, UnsafeRawBufferPointer?) throws -> Void) throws {
    let statement = try pageStatement(.entries, isAfter: false, hasEnd: false)
    defer { statement.resetAndClearBindings() }
    try [UInt8]().withUnsafeBytes { start in
      statement.bind(1, borrowing: start)
      while try statement.step() {
        let key = try key(in: statement)
        let row = ValueRow(statement, 1)
        try body(key, row.isWhole(key) ? row.value : nil)
      }
    }
  }

  func journalPage(after revision: StoreRevision, limit: Int) throws -> JournalPage {
    try journal.get().page(after: revision, limit: limit)
  }

  /// Returns the commits after a revision that can be read, and whether these are all.
  func journalRest(after revision: StoreRevision) throws -> (commits: [StoreCommit], isComplete: Bool) {
    try journal.get().rest(after: revision)
  }

  /// Returns the epoch in which a commit was made, or `nil` if the journal does not contain the commit.
  func epoch(of revision: StoreRevision) throws -> UInt64? { try journal.get().epoch(of: revision) }

  package func summary(of key: KeyName) throws -> StoreEntry.Summary? {
    let statement = try oneSummary.get()
    return try key.withBytes { name in
      statement.bind(1, borrowing: name)
      defer { statement.resetAndClearBindings() }
      return try statement.step() ? try summary(in: statement) : nil
    }
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) throws -> [StoreEntry] {
    try list(prefix: prefix, after: after, .entries) { try collect($0, limit: limit) }
  }

  /// Returns the keys, sizes, revisions, attributes and commit dates of values.
  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) throws -> [StoreEntry.Summary] {
    try list(prefix: prefix, after: after, .summaries) { statement in
      var summaries: [StoreEntry.Summary] = []
      while summaries.count < limit, try statement.step() {
        do { summaries.append(try summary(in: statement)) } catch {
          guard summaries.isEmpty else { break }
          throw error
        }
      }
      return summaries
    }
  }

  private func summary(in statement: Statement) throws -> StoreEntry.Summary {
    let key = try key(in: statement)
    guard let attributes = ValueAttributes(encoded: statement.bytes(3)), !statement.isNull(2) else {
      throw StorageError.damagedValue(key, in: connection.file)
    }
    return StoreEntry.Summary(
      key: key, size: Int(statement.integer(2)), revision: StoreRevision(UInt64(bitPattern: statement.integer(1))),
      date: statement.isNull(4) ? nil : Date(unixMilliseconds: statement.integer(4)), attributes: attributes)
  }

  private enum Listed: Int {
    case entries = 0
    case summaries = 4

    func query(_ columns: String) -> String {
      switch self {
      case .entries: "SELECT key, \(columns) FROM coffer_values"
      case .summaries:
        """
        SELECT key, revision, \(columns == ValueRow.columns ? "\(ValueRow.size), attributes" : "length(value), NULL"),
        (SELECT committed_at FROM coffer_journal WHERE coffer_journal.revision = coffer_values.revision)
        FROM coffer_values
        """
      }
    }
  }

  private func list<R>(
    prefix: KeyName?, after: KeyName?, _ listed: Listed, _ body: (Statement) throws -> R
  ) throws -> R {
    // Only the higher of the lower bounds: given two, SQLite seeks to the first and tests the second row by row.
    let isAfter = after.map { after in prefix.map { after >= $0 } ?? true } ?? false
    let lower = (isAfter ? after : prefix).map { Array($0.string.utf8) } ?? []
    let upper = prefix?.successor
    let statement = try pageStatement(listed, isAfter: isAfter, hasEnd: upper != nil)
    return try lower.withUnsafeBytes { lowerBytes in
      try (upper ?? []).withUnsafeBytes { upperBytes in
        statement.bind(1, borrowing: lowerBytes)
        if upper != nil { statement.bind(2, borrowing: upperBytes) }
        defer { statement.resetAndClearBindings() }
        return try body(statement)
      }
    }
  }

  private func pageStatement(_ listed: Listed, isAfter: Bool, hasEnd: Bool) throws -> Statement {
    let index = listed.rawValue + (isAfter ? 1 : 0) + (hasEnd ? 2 : 0)
    if let statement = pages[index] { return statement }
    let statement = try connection.prepare(
      """
      \(listed.query(columns)) WHERE key \(isAfter ? ">" : ">=") ?1 \(hasEnd ? "AND key < ?2" : "") ORDER BY key
      """)
    pages[index] = statement
    return statement
  }

  private func collect(_ statement: Statement, limit: Int) throws -> [StoreEntry] {
    var entries: [StoreEntry] = []
    var bytes = 0
    while bytes < Self.pageBytes, entries.count < limit, try statement.step() {
      do {
        let key = try key(in: statement)
        let entry = try entry(key, in: statement, firstColumn: 1)
        entries.append(entry)
        bytes += entry.value.count
      } catch {
        // The entries before a damaged one are intact; the next page reports the damage.
        guard entries.isEmpty else { break }
        throw error
      }
    }
    return entries
  }

  /// Returns the key of a row. Names are written as UTF-8 of 1 to 1,024 bytes, so any other name is damage.
  private func key(in statement: Statement) throws -> KeyName {
    if let name = String(validating: statement.bytes(0), as: UTF8.self), let key = try? KeyName(name) { return key }
    throw StorageError(
      .damaged, "The name of a key is damaged: it is not UTF-8 of 1 to 1,024 bytes.",
      advice: "Other keys can be read by their names; 'coffer verify' counts what is damaged.",
      location: connection.file.description)
  }

  private func entry(_ key: KeyName, in statement: Statement, firstColumn: Int32) throws -> StoreEntry {
    let row = ValueRow(statement, firstColumn)
    guard row.isWhole(key), let attributes = ValueAttributes(encoded: row.attributes) else {
      onDamage(Finding(key, row))
      throw StorageError.damagedValue(key, in: connection.file)
    }
    return StoreEntry(
      key: key, value: row.value.isEmpty ? Data() : Data(row.value), revision: row.revision, attributes: attributes)
  }
}

extension StorageError {
  /// The error of reading a value whose checksum does not match.
  static func damagedValue(_ key: KeyName, in file: StoreFile) -> StorageError {
    let advice =
      file.reading == nil
      ? "Its bytes were kept in quarantine. Write the key again to replace it." : "Its bytes stay where they are."
    return StorageError(
      .damaged, "The stored value is damaged: its checksum does not match.",
      advice: "\(advice) Other keys are not affected.", location: file.description, key: key)
  }
}
