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
      size = KeyFamilySummary(values).size
      let positions = values.count > 1 ? [0, values.count / 2, values.count - 1] : []
      examples = Set(positions).sorted().map { values[$0].key.string }
    }
  }
}

/// Folds a sorted list of names into at most 100 rows.
///
/// A row begins as all values of a store. The largest row that can be split is split at the next of the separators
/// `/ . : - _`, if that gives at most ten parts; the first one may have fifty, of which the last are all smaller ones.
/// Up to eight values are listed one by one. So a thousand names of one form are one row, and those beside them are not
/// hidden in it.
struct UndeclaredFolding {
  private static let maximumRows = 100
  private static let maximumParts = 10
  private static let maximumFirstParts = 50
  private static let maximumSingleValues = 8
  private static let separators = Set("/.:-_".utf8)

  /// Values whose names begin with the first `depth` bytes of each.
  private struct Row {
    var values: [StoreEntry.Summary]
    var depth: Int
    /// Whether the row cannot be split any further.
    var isFinal = false
  }

  /// Returns the rows of a store in the order of their names.
  static func rows(_ values: [StoreEntry.Summary], store: String) -> [AuditReport.UndeclaredValues] {
    var rows = values.isEmpty ? [] : [Row(values: values, depth: 0)]
    while let index = rows.indices.filter({ !rows[$0].isFinal }).max(by: {
      rows[$0].values.count < rows[$1].values.count
    }) {
      let parts = parts(of: rows[index])
      if parts.count > 1, rows.count + parts.count - 1 <= maximumRows {
        rows.replaceSubrange(index...index, with: parts)
      } else {
        rows[index].isFinal = true
      }
    }
    return rows.map { AuditReport.UndeclaredValues($0.values, name: name(of: $0), store: store) }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// Returns the rows that a row is split into; one if it remains whole.
  private static func parts(of row: Row) -> [Row] {
    guard row.values.count > 1 else { return [row] }
    guard row.values.count > maximumSingleValues else {
      return row.values.map { Row(values: [$0], depth: 0, isFinal: true) }
    }
    var depth = row.depth
    while true {
      let groups = groups(of: row.values, after: depth)
      if groups.count == 1, groups[0].depth > depth {  // All names have this part in common.
        depth = groups[0].depth
        continue
      }
      let several = groups.filter { $0.values.count > 1 }
      let single = groups.filter { $0.values.count == 1 }
      let others =
        single.count > maximumSingleValues
        ? [Row(values: single.flatMap(\.values), depth: depth, isFinal: true)]
        : single.map { Row(values: $0.values, depth: 0, isFinal: true) }
      let parts = several + others
      if row.depth == 0 { return largest(parts, of: row) }
      return parts.count > maximumParts ? [row] : parts
    }
  }

  /// Returns the largest parts of all values of a store and one for the rest, unless most values are in the rest.
  private static func largest(_ parts: [Row], of row: Row) -> [Row] {
    guard parts.count > maximumFirstParts else { return parts }
    let sorted = parts.sorted { $0.values.count > $1.values.count }
    let rest = sorted.dropFirst(maximumFirstParts - 1).flatMap(\.values).sorted { $0.key < $1.key }
    guard rest.count <= row.values.count / 2 else { return [row] }
    return sorted.prefix(maximumFirstParts - 1) + [Row(values: rest, depth: 0, isFinal: true)]
  }

  /// Returns the values in groups of the same name up to the next separator after `depth` bytes.
  private static func groups(of values: [StoreEntry.Summary], after depth: Int) -> [Row] {
    var groups: [Row] = []
    var beginning: [UInt8] = []
    for value in values {
      let name = value.key.string.utf8
      let end = name.dropFirst(depth).firstIndex(where: separators.contains).map { name.index(after: $0) }
      let part = Array(name[..<(end ?? name.endIndex)])
      if end != nil, part == beginning, !groups.isEmpty {
        groups[groups.count - 1].values.append(value)
      } else {
        groups.append(Row(values: [value], depth: end == nil ? depth : part.count))
        beginning = end == nil ? [] : part
      }
    }
    return groups
  }

  /// Returns the name of a single value, or the longest beginning up to a separator that all names have, or else the
  /// longest beginning.
  private static func name(of row: Row) -> String {
    guard let first = row.values.first?.key.string, let last = row.values.last?.key.string, row.values.count > 1 else {
      return row.values.first?.key.string ?? ""
    }
    // The list is sorted, so what the first and the last have in common, all have.
    let common = zip(first.unicodeScalars, last.unicodeScalars).prefix { $0 == $1 }.map(\.0)
    let end = common.lastIndex { $0.isASCII && separators.contains(UInt8($0.value)) }
    var name = String.UnicodeScalarView()
    name.append(contentsOf: end.map { common[...$0] } ?? common[...])
    return String(name)
  }
}
