import CofferCore

/// The facts about a store in `coffer_meta`, read together: each statement costs an opening more than its rows.
struct StoreMeta {
  /// The random name of the store.
  private(set) var store: String?
  private var numbers: [String: Int64] = [:]

  /// Reads the facts, in the current transaction if there is one.
  init(_ connection: Connection) throws {
    let rows = try connection.prepare("SELECT name, value FROM coffer_meta")
    defer { rows.reset() }
    while try rows.step() {
      let name = rows.text(0)
      if name == "store" { store = rows.text(1) } else { numbers[name] = rows.integer(1) }
    }
  }

  subscript(name: String) -> Int64? { numbers[name] }

  var epoch: UInt64 { UInt64(bitPattern: numbers["epoch"] ?? 0) }
  /// The random number of the last restoration; `nil` if there was none.
  var restoration: Int64? { numbers["restored"] }
  /// Whether the database is the journal of a store that keeps its values elsewhere.
  var isJournalOnly: Bool { numbers["slots"] != nil }
  /// Whether the database was created with page checksums.
  var isSealed: Bool { numbers["sealed"] != nil }
}
