extension AuditReport {
  /// Stored values that are in no catalog: one value, or several whose names have a common beginning.
  public struct UndeclaredValues: Codable, Hashable, Sendable {
    /// The name of the value; if `count` is more than 1, the beginning of the names, empty if they have none in common.
    public var name: String
    /// The store of the values, as its location.
    public var store: String
    /// The number of the values. Values with the same beginning that have rows of their own are not counted.
    public var count: Int
    /// The total size in bytes, or `nil` if the store cannot report it without reading the values.
    public var size: Int?
    /// The names of some of the values if there are several, in their order.
    public var examples: [String]

    init(_ values: [StoreEntry.Summary], name: String, store: String) {
      self.name = name
      self.store = store
      count = values.count
      size = StorageRouter.FamilySummary(values).size
      let positions = values.count > 1 ? [0, values.count / 2, values.count - 1] : []
      examples = Set(positions).sorted().map { values[$0].key.string }
    }
  }
}

/// Folds a list of names into at most 100 rows.
///
/// More than eight values whose names have the same beginning, up to the last of the separators `/ . : - _`, are one
/// row. So a thousand names of one form are one row, and those beside them are not hidden in it. As long as there are
/// more rows, the smaller groups are made by the separator before: names may end in a date or a UUID. In the end the
/// smallest rows are one together.
enum UndeclaredFolding {
  private static let maximumRows = 100
  private static let maximumSingleValues = 8
  private static let maximumRounds = 16
  private static let separators = Set("/.:-_".utf8)

  /// Returns the rows of a store in the order of their names.
  /// - Parameter values: the values in the order of their keys.
  static func rows(_ values: [StoreEntry.Summary], store: String) -> [AuditReport.UndeclaredValues] {
    var groups = Dictionary(grouping: values) { Array(beginning(of: Array($0.key.string.utf8)[...])) }
    for _ in 0..<maximumRounds {
      let count = groups.values.reduce(0) { $0 + ($1.count > maximumSingleValues ? 1 : $1.count) }
      guard count > maximumRows else { break }
      var wider: [[UInt8]: [StoreEntry.Summary]] = [:]
      for (name, values) in groups {
        let name = values.count > maximumSingleValues ? name[...] : beginning(of: name.dropLast())
        wider[Array(name), default: []] += values
      }
      groups = wider.mapValues { $0.sorted { $0.key < $1.key } }
    }
    var rows: [(name: String, values: [StoreEntry.Summary])] = groups.flatMap { beginning, values in
      values.count > maximumSingleValues
        ? [(String(decoding: beginning, as: UTF8.self), values)] : values.map { ($0.key.string, [$0]) }
    }
    if rows.count > maximumRows {
      rows.sort { ($1.values.count, $0.name) < ($0.values.count, $1.name) }
      let rest = rows[(maximumRows - 1)...].flatMap(\.values).sorted { $0.key < $1.key }
      rows = rows.prefix(maximumRows - 1) + [("", rest)]
    }
    return rows.map { AuditReport.UndeclaredValues($0.values, name: $0.name, store: store) }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  private static func beginning(of name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let last = name.lastIndex(where: separators.contains) else { return name.prefix(0) }
    return name[...last]
  }
}
