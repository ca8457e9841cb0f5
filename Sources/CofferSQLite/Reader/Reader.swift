import CofferCSQLite
import CofferCore
import Foundation

/// A connection that reads, with its statements.
///
/// Sendable by protocol of use: the ``ReaderPool`` lends a reader to one borrower at a time and a borrower uses it from
/// one place at a time, so no two threads are ever inside. The pool's lock orders one borrower after the other.
final class Reader: @unchecked Sendable {
  let connection: Connection
  private let get: Statement
  private let newestRevision: Statement
  private(set) lazy var statements = StatementCache(connection)
  private lazy var journal = Result { try JournalReader(connection) }
  private var pages = [Statement?](repeating: nil, count: 4)
  private let onDamage: @Sendable (Finding) -> Void

  /// How many bytes of values a page holds at most, so that a page of large values stays small.
  private static let pageBytes = 16 << 20

  init(_ place: StorePlace, onDamage: @escaping @Sendable (Finding) -> Void) throws {
    connection = try Connection(place)
    self.onDamage = onDamage
    try connection.execute("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -8192")
    get = try connection.prepare("SELECT revision, checksum, value FROM coffer_values WHERE key = ?1")
    newestRevision = try connection.prepare("SELECT max(revision) FROM coffer_journal")
  }

  /// Starts to read one state; returns its revision.
  func beginSnapshot() throws -> Revision {
    try connection.execute("BEGIN")
    do {
      return try revision()
    } catch {
      connection.rollBack()
      throw error
    }
  }

  func endSnapshot() { connection.rollBack() }

  func revision() throws -> Revision {
    defer { newestRevision.reset() }
    return try newestRevision.step() ? Revision(UInt64(bitPattern: newestRevision.integer(0))) : .zero
  }

  func entry(_ key: Key) throws -> Entry? {
    try key.withBytes { name in
      get.bind(1, borrowing: name)
      defer { get.resetAndForget() }
      guard try get.step() else { return nil }
      return try entry(key, in: get, firstColumn: 0)
    }
  }

  /// Reads a key wherever its row is, without relying on the order of the rows. Linear in their number.
  func entryInAnyOrder(_ key: Key) throws -> Entry? {
    let scan = try connection.prepare("SELECT revision, checksum, value FROM coffer_values WHERE +key = ?1")
    return try key.withBytes { name in
      scan.bind(1, borrowing: name)
      defer { scan.resetAndForget() }
      return try scan.step() ? try entry(key, in: scan, firstColumn: 0) : nil
    }
  }

  /// Looks at a value in place, without copying it.
  func withValue<R>(_ key: Key, _ body: (Revision, UnsafeRawBufferPointer) throws -> R) throws -> R? {
    try key.withBytes { name in
      get.bind(1, borrowing: name)
      defer { get.resetAndForget() }
      guard try get.step() else { return nil }
      let (bytes, revision) = (get.bytes(2), Revision(UInt64(bitPattern: get.integer(0))))
      guard Int64(bound(checksum(key, bytes), to: revision)) == get.integer(1) else {
        return try body(.zero, .init(start: nil, count: 0))
      }
      return try body(revision, bytes)
    }
  }

  /// Looks at every value in place, in the order of the keys; `nil` for one whose row is damaged.
  func forEachValue(_ body: (Key, UnsafeRawBufferPointer?) throws -> Void) throws {
    let statement = try pageStatement(isAfter: false, hasEnd: false)
    defer { statement.resetAndForget() }
    try [UInt8]().withUnsafeBytes { start in
      statement.bind(1, borrowing: start)
      while try statement.step() {
        let key = try key(in: statement)
        let (bytes, revision) = (statement.bytes(3), Revision(UInt64(bitPattern: statement.integer(1))))
        try body(key, Int64(bound(checksum(key, bytes), to: revision)) == statement.integer(2) ? bytes : nil)
      }
    }
  }

  func journalPage(after revision: Revision, limit: Int) throws -> JournalPage {
    try journal.get().page(after: revision, limit: limit)
  }

  /// The history in which a commit was made; `nil` when the journal does not have it.
  func epoch(of revision: Revision) throws -> UInt64? { try journal.get().epoch(of: revision) }

  func page(prefix: Key?, after: Key?, limit: Int) throws -> [Entry] {
    // One bound from below, whichever is higher: SQLite seeks to the first and then tests the second row by row.
    let isAfter = after.map { after in prefix.map { after >= $0 } ?? true } ?? false
    let lower = (isAfter ? after : prefix).map { Array($0.string.utf8) } ?? []
    let upper = prefix?.successor
    let statement = try pageStatement(isAfter: isAfter, hasEnd: upper != nil)
    return try lower.withUnsafeBytes { lowerBytes in
      try (upper ?? []).withUnsafeBytes { upperBytes in
        statement.bind(1, borrowing: lowerBytes)
        if upper != nil { statement.bind(2, borrowing: upperBytes) }
        defer { statement.resetAndForget() }
        return try collect(statement, limit: limit)
      }
    }
  }

  private func pageStatement(isAfter: Bool, hasEnd: Bool) throws -> Statement {
    let index = (isAfter ? 1 : 0) + (hasEnd ? 2 : 0)
    if let statement = pages[index] { return statement }
    let statement = try connection.prepare(
      """
      SELECT key, revision, checksum, value FROM coffer_values
      WHERE key \(isAfter ? ">" : ">=") ?1 \(hasEnd ? "AND key < ?2" : "") ORDER BY key
      """)
    pages[index] = statement
    return statement
  }

  private func collect(_ statement: Statement, limit: Int) throws -> [Entry] {
    var entries: [Entry] = []
    var bytes = 0
    while bytes < Self.pageBytes, entries.count < limit, try statement.step() {
      do {
        let key = try key(in: statement)
        let entry = try entry(key, in: statement, firstColumn: 1)
        entries.append(entry)
        bytes += entry.value.count
      } catch {
        // The entries before a damaged one are good: the damage is the next page's business.
        guard entries.isEmpty else { break }
        throw error
      }
    }
    return entries
  }

  /// The key of a row. No writer of ours makes another name than UTF-8 of 1 to 1,024 bytes: any other is damage.
  private func key(in statement: Statement) throws -> Key {
    if let name = String(validating: statement.bytes(0), as: UTF8.self), let key = try? Key(name) { return key }
    throw StorageError(
      .damaged, "The name of a key is damaged: it is not UTF-8 of 1 to 1,024 bytes.",
      advice: "Other keys can be read by their names; 'coffer verify' counts what is damaged.",
      backend: connection.place.description)
  }

  private func entry(_ key: Key, in statement: Statement, firstColumn: Int32) throws -> Entry {
    let revision = Revision(UInt64(bitPattern: statement.integer(firstColumn)))
    let bytes = statement.bytes(firstColumn + 2)
    guard Int64(bound(checksum(key, bytes), to: revision)) == statement.integer(firstColumn + 1) else {
      onDamage(
        Finding(key: key, revision: revision, checksum: statement.integer(firstColumn + 1), value: Data(bytes)))
      throw StorageError.damagedValue(key, backend: connection.place.description)
    }
    return Entry(key: key, value: bytes.isEmpty ? Data() : Data(bytes), revision: revision)
  }
}

extension StorageError {
  /// What the reader of a value hears whose bytes are not those that were written.
  static func damagedValue(_ key: Key, backend: String) -> StorageError {
    StorageError(
      .damaged, "The stored value is damaged: its checksum does not match.",
      advice: "Its bytes were kept in the quarantine; write the key again to go on. Other keys are not affected.",
      backend: backend, key: key)
  }
}
