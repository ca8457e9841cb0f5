import CofferCSQLite
import CofferCore

/// The number of rows in a store and a digest of their set.
///
/// Each commit records both in its journal row, so that missing and duplicate rows are detected.
struct LiveRows: Hashable {
  var count: Int64 = 0
  /// The sum of the digests of all rows, modulo 2^64. Independent of their order; adding or removing a row is O(1).
  var digest: UInt64 = 0

  mutating func add(_ row: UInt64) {
    count += 1
    digest &+= row
  }

  mutating func remove(_ row: UInt64) {
    count -= 1
    digest &-= row
  }

  func adding(_ others: LiveRows) -> LiveRows { LiveRows(count: count + others.count, digest: digest &+ others.digest) }

  /// Returns the digest of one row. The checksum covers key, revision and value; the mixing keeps the sums of different
  /// sets of rows apart.
  static func digest(revision: Int64, checksum: Int64) -> UInt64 {
    var mixed = UInt64(bitPattern: revision) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(bitPattern: checksum)
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

/// A counter of the rows that the statements of one connection replace and remove.
///
/// Its SQL function receives each row as it was, which avoids looking the row up before the statement.
final class LiveRowCounter {
  fileprivate struct State {
    var rows = LiveRows()
    /// The large values that no row refers to any more.
    var large: [LargeValue] = []
    /// Whether a statement must not replace envelopes, and whether it met one.
    var keepsSealed = false
    var metSealed = false
  }

  /// The state, changed by SQLite's calls on the thread that runs the statement, and by the committer on that thread.
  private let state: UnsafeMutablePointer<State>
  private let connection: Connection

  /// The SQL expression that a statement evaluates for each row that it removes; its value is true, except for an
  /// envelope within ``keepingSealed(_:)``.
  static let removing = "coffer_removing(revision, checksum, large, key, attributes)"

  init(_ connection: Connection) throws {
    self.connection = connection
    state = .allocate(capacity: 1)
    state.initialize(to: State())
    let flags = SQLITE_UTF8 | SQLITE_DIRECTONLY
    let code = sqlite3_create_function_v2(
      connection.handle, "coffer_removing", 5, flags, state, noteRemovedRow, nil, nil, nil)
    guard code == SQLITE_OK else { throw connection.error(code) }
  }

  deinit {
    sqlite3_create_function_v2(connection.handle, "coffer_removing", 5, SQLITE_UTF8, nil, nil, nil, nil, nil)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  var rows: LiveRows {
    get { state.pointee.rows }
    set { state.pointee.rows = newValue }
  }

  /// Runs a statement that replaces no envelope.
  /// - Returns: Whether it met one, which is in its place then.
  func keepingSealed(_ body: () throws -> Void) rethrows -> Bool {
    (state.pointee.keepsSealed, state.pointee.metSealed) = (true, false)
    defer { state.pointee.keepsSealed = false }
    try body()
    return state.pointee.metSealed
  }

  /// Returns the large values of the rows removed since the last call.
  func takeLarge() -> [LargeValue] {
    guard !state.pointee.large.isEmpty else { return [] }
    defer { state.pointee.large = [] }
    return state.pointee.large
  }
}

private nonisolated func noteRemovedRow(
  _ context: OpaquePointer?, _: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard let state = sqlite3_user_data(context), let arguments else { return sqlite3_result_int(context, 0) }
  let row = LiveRows.digest(revision: sqlite3_value_int64(arguments[0]), checksum: sqlite3_value_int64(arguments[1]))
  let known = state.assumingMemoryBound(to: LiveRowCounter.State.self)
  if known.pointee.keepsSealed, sqlite3_value_type(arguments[4]) != SQLITE_NULL {
    let bytes = UnsafeRawBufferPointer(
      start: sqlite3_value_blob(arguments[4]), count: Int(sqlite3_value_bytes(arguments[4])))
    if ValueAttributes(encoded: bytes)?.isSealed == true {
      known.pointee.metSealed = true
      return sqlite3_result_int(context, 0)
    }
  }
  known.pointee.rows.remove(row)
  if sqlite3_value_type(arguments[2]) != SQLITE_NULL {
    let key = UnsafeRawBufferPointer(
      start: sqlite3_value_blob(arguments[3]), count: Int(sqlite3_value_bytes(arguments[3])))
    known.pointee.large.append(LargeValue(id: sqlite3_value_int64(arguments[2]), key: Array(key)))
  }
  sqlite3_result_int(context, 1)
}

extension Connection {
  /// Whether the database has attributes and system records, as it does from format 3 on.
  var keepsAttributes: Bool {
    get throws { try number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_records'") != nil }
  }

  /// Reads all system records.
  /// - Returns: The count and digest of their rows, and the names of those that are damaged.
  func countRecords() throws -> (rows: LiveRows, damaged: [String]) {
    guard try keepsAttributes else { return (LiveRows(), []) }
    let rows = try prepare("SELECT key, \(ValueRow.columns) FROM coffer_records")
    defer { rows.reset() }
    var found = LiveRows()
    var damaged: [String] = []
    while try rows.step() {
      let row = ValueRow(rows, 1)
      found.add(row.digest)
      let key = String(validating: rows.bytes(0), as: UTF8.self).flatMap { try? KeyName($0) }
      if key.map(row.isWhole) != true { damaged.append(rows.text(0)) }
    }
    return (found, damaged)
  }
}
