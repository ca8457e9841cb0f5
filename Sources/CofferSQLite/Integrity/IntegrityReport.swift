public import CofferCore

/// What a check of a whole store has found.
public struct IntegrityReport: Sendable {
  /// How many values there are.
  public internal(set) var values: Int64 = 0
  /// The keys whose values are damaged.
  public internal(set) var damaged: [StoreKey] = []
  /// How many rows have a key that is no name.
  public internal(set) var unnamed: Int64 = 0
  /// How many rows are missing, or are there twice where the number is negative; `nil` when that cannot be told.
  public internal(set) var missing: Int64? = 0
  /// Whether the rows are those that the newest commit has left.
  public internal(set) var rowsAreComplete = true
  /// The commits whose journal rows are damaged.
  public internal(set) var damagedCommits: [StoreRevision] = []
  /// The numbers of the pages in the database file whose checksums are wrong.
  public internal(set) var damagedPages: [Int64] = []
  /// What SQLite says of the structure of the file, in its words.
  public internal(set) var structure: [String] = []
  /// Whether pages have checksums. Those of a store that another version has made may have none.
  public internal(set) var hasPageChecksums = true
  /// What was lost, until somebody accepts it.
  public internal(set) var loss: LossReport?

  /// Whether nothing is damaged, missing or lost.
  public var isWhole: Bool { problems.isEmpty && damaged.isEmpty }

  /// What is wrong besides single values, a sentence each.
  public var problems: [String] {
    var problems: [String] = []
    if let loss { problems.append(loss.message) }
    if !damagedPages.isEmpty {
      let numbers = damagedPages.prefix(20).map(String.init).joined(separator: ", ")
      let more = damagedPages.count > 20 ? " and \(damagedPages.count - 20) more" : ""
      problems.append("Pages of the database file are damaged: \(numbers)\(more).")
    }
    if unnamed > 0 { problems.append("The names of keys are damaged: \(unnamed).") }
    if !rowsAreComplete {
      switch missing {
      case let missing? where missing > 0: problems.append("Values are missing: \(missing).")
      case let missing? where missing < 0: problems.append("Values are there that were not stored: \(-missing).")
      default: problems.append("The values are not those that the newest commit has left.")
      }
    }
    if !damagedCommits.isEmpty {
      problems.append("Entries of the journal are damaged: \(damagedCommits.count).")
    }
    return problems + structure
  }
}
