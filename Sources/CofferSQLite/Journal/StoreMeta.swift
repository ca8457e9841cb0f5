import CofferCore

/// The facts about a store in `coffer_meta`, read together: each statement costs an opening more than its rows.
struct StoreMeta {
  /// The random name of the store.
  private(set) var store: String?
  private(set) var format: Int64 = 0
  private(set) var epoch: UInt64 = 0
  /// The random number of the last restoration; `nil` if there was none.
  private(set) var restoration: Int64?
  /// Whether the database is the journal of a store that keeps its values elsewhere.
  private(set) var isJournalOnly = false
  /// Whether the database was created with page checksums.
  private(set) var isSealed = false
  /// The numbers of a loss that was not accepted yet, in the order of ``LossReport/names``.
  private(set) var loss = [Int64?](repeating: nil, count: LossReport.names.count)

  /// Reads the facts, in the current transaction if there is one.
  init(_ connection: Connection) throws {
    let rows = try connection.prepare("SELECT name, value FROM coffer_meta")
    defer { rows.reset() }
    while try rows.step() {
      let name = rows.text(0)
      switch name {
      case "store": store = rows.text(1)
      case "format": format = rows.integer(1)
      case "epoch": epoch = UInt64(bitPattern: rows.integer(1))
      case "restored": restoration = rows.integer(1)
      case "slots": isJournalOnly = true
      case "sealed": isSealed = true
      default: if let index = LossReport.names.firstIndex(where: { $0 == name }) { loss[index] = rows.integer(1) }
      }
    }
  }
}
