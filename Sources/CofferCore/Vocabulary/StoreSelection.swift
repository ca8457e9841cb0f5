/// The keys that a commit changed: single keys, whole prefixes, or everything.
public struct StoreSelection: Hashable, Sendable {
  /// The keys that were put or deleted, in the order of the batch.
  public let keys: [KeyName]
  /// The prefixes that were cleared, in the order of the batch.
  public let prefixes: [KeyName]
  /// Whether the whole store was cleared. ``keys`` and ``prefixes`` are then empty, since every value may have changed.
  public let isEverything: Bool
  /// The system records that were put or deleted, in the order of the batch.
  public let records: [SystemRecord.Name]

  /// A selection of nothing.
  public static let none = StoreSelection(keys: [], prefixes: [])
  /// A selection of every value in the store, without system records.
  public static let everything = everything(records: [])

  /// Returns a selection of every value in the store and of the given system records, which clearing does not remove.
  public static func everything(records: [SystemRecord.Name]) -> StoreSelection {
    StoreSelection(keys: [], prefixes: [], isEverything: true, records: records)
  }

  /// Creates a selection of single keys, prefixes and system records.
  public init(keys: [KeyName], prefixes: [KeyName] = [], records: [SystemRecord.Name] = []) {
    self.init(keys: keys, prefixes: prefixes, isEverything: false, records: records)
  }

  private init(keys: [KeyName], prefixes: [KeyName], isEverything: Bool, records: [SystemRecord.Name]) {
    (self.keys, self.prefixes, self.isEverything, self.records) = (keys, prefixes, isEverything, records)
  }

  /// Whether neither values nor system records were changed.
  public var isEmpty: Bool { !hasValues && records.isEmpty }

  /// Whether the selection covers values, and not only system records.
  public var hasValues: Bool { isEverything || !keys.isEmpty || !prefixes.isEmpty }

  /// Returns whether the value of `key` may have changed. Complexity: O(*n*) in the size of the selection.
  public func contains(_ key: KeyName) -> Bool {
    isEverything || keys.contains(key) || prefixes.contains { key.hasPrefix($0) }
  }
}
