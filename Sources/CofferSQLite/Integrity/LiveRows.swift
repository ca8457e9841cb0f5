import CofferCSQLite
import CofferCore

/// How many values a store has, and a digest of the set of their rows: each commit writes both into its journal row, so
/// that a row that is gone, or there twice, shows.
struct LiveRows: Hashable {
  var count: Int64 = 0
  /// The sum of the digests of all rows; adding and removing one are one addition each, in any order.
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

  /// The digest of one row. Its checksum covers key, revision and value; mixing keeps sums of rows apart.
  static func digest(revision: Int64, checksum: Int64) -> UInt64 {
    var mixed = UInt64(bitPattern: revision) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(bitPattern: checksum)
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

/// Follows the rows that the statements of one connection replace and remove: SQL calls it with each row as it was,
/// which spares looking the row up before.
final class LiveRowCounter {
  fileprivate struct State {
    var rows = LiveRows()
    /// The large values that no row needs any more.
    var large: [LargeValue] = []
  }

  /// Changed by SQLite's calls, on the thread that runs the statement, and by the committer there.
  private let state: UnsafeMutablePointer<State>
  private let connection: Connection

  /// What a statement says for each row that it removes; true.
  static let removing = "coffer_removing(revision, checksum, large, key)"

  init(_ connection: Connection) throws {
    self.connection = connection
    state = .allocate(capacity: 1)
    state.initialize(to: State())
    let flags = SQLITE_UTF8 | SQLITE_DIRECTONLY
    let code = sqlite3_create_function_v2(
      connection.handle, "coffer_removing", 4, flags, state, noteRemovedRow, nil, nil, nil)
    guard code == SQLITE_OK else { throw connection.error(code) }
  }

  deinit {
    sqlite3_create_function_v2(connection.handle, "coffer_removing", 4, SQLITE_UTF8, nil, nil, nil, nil, nil)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  var rows: LiveRows {
    get { state.pointee.rows }
    set { state.pointee.rows = newValue }
  }

  /// The large values of the rows that were removed since the last call.
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
  known.pointee.rows.remove(row)
  if sqlite3_value_type(arguments[2]) != SQLITE_NULL {
    let key = UnsafeRawBufferPointer(
      start: sqlite3_value_blob(arguments[3]), count: Int(sqlite3_value_bytes(arguments[3])))
    known.pointee.large.append(LargeValue(id: sqlite3_value_int64(arguments[2]), key: Array(key)))
  }
  sqlite3_result_int(context, 1)
}

extension Connection {
  /// Whether values have attributes, and whether there are records: from the third format on.
  var keepsAttributes: Bool {
    get throws { try number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_records'") != nil }
  }

  /// Reads the records of the library's own: their rows, and the names of those that are damaged.
  func countRecords() throws -> (rows: LiveRows, damaged: [String]) {
    guard try keepsAttributes else { return (LiveRows(), []) }
    let rows = try prepare("SELECT key, \(ValueRow.columns) FROM coffer_records")
    defer { rows.reset() }
    var found = LiveRows()
    var damaged: [String] = []
    while try rows.step() {
      let row = ValueRow(rows, 1)
      found.add(row.digest)
      let key = String(validating: rows.bytes(0), as: UTF8.self).flatMap { try? StoreKey($0) }
      if key.map(row.isWhole) != true { damaged.append(rows.text(0)) }
    }
    return (found, damaged)
  }
}
