public import CofferCore

/// The result of the verification of a whole store.
public struct IntegrityReport: Sendable {
  /// The number of values in the store.
  public internal(set) var values: Int64 = 0
  /// The keys whose values are damaged.
  public internal(set) var damaged: [KeyName] = []
  /// The number of rows whose key is not a valid key name.
  public internal(set) var unnamed: Int64 = 0
  /// The number of missing rows, negative if there are surplus rows; `nil` if it cannot be determined.
  public internal(set) var missing: Int64? = 0
  /// Whether the rows match the count and digest that the newest commit recorded.
  public internal(set) var rowsAreComplete = true
  /// The revisions of the commits whose journal rows are damaged.
  public internal(set) var damagedCommits: [StoreRevision] = []
  /// The numbers of the pages in the database file whose checksums do not match.
  public internal(set) var damagedPages: [Int64] = []
  /// The defects in the structure of the file: SQLite's own messages, damaged system records, and large values without
  /// a key.
  public internal(set) var structure: [String] = []
  /// Whether pages have checksums. A store created by an earlier version may have none.
  public internal(set) var hasPageChecksums = true
  /// The loss of acknowledged commits that was not accepted yet; `nil` if there is none.
  public internal(set) var loss: LossReport?

  /// Whether nothing is damaged, missing or lost.
  public var isWhole: Bool { problems.isEmpty && damaged.isEmpty }

  /// The problems other than damaged values, one sentence each.
  public var problems: [String] {
    var problems: [String] = []
    if let loss { problems.append(loss.message) }
    if !damagedPages.isEmpty {
      let numbers = damagedPages.prefix(20).map(String.init).joined(separator: ", ")
      let more = damagedPages.count > 20 ? " and \(damagedPages.count - 20) more" : ""
      problems.append("Pages of the database file are damaged: \(numbers)\(more).")
    }
    if unnamed > 0 { problems.append("Key names are damaged: \(unnamed).") }
    if !rowsAreComplete {
      switch missing {
      case let missing? where missing > 0: problems.append("Values are missing: \(missing).")
      case let missing? where missing < 0: problems.append("Values are present that were not stored: \(-missing).")
      default: problems.append("The values do not match those of the newest commit.")
      }
    }
    if !damagedCommits.isEmpty {
      problems.append("Entries of the journal are damaged: \(damagedCommits.count).")
    }
    return problems + structure
  }
}
