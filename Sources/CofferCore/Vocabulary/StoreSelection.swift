/// The keys that a commit changed: single keys, whole prefixes, or everything.
public struct StoreSelection: Hashable, Sendable {
  /// Keys that were put or deleted, in the order of the batch.
  public let keys: [StoreKey]
  /// Prefixes that were cleared.
  public let prefixes: [StoreKey]
  /// Whether the whole store was cleared; then the lists are empty, since everything may have changed.
  public let isEverything: Bool
  /// Records of the library's own that were put or deleted, in the order of the batch.
  public let records: [SystemRecordName]

  /// Nothing.
  public static let none = StoreSelection(keys: [], prefixes: [])
  /// The whole store.
  public static let everything = everything(records: [])

  /// The whole store, and records of the library's own, which clearing it leaves.
  public static func everything(records: [SystemRecordName]) -> StoreSelection {
    StoreSelection(keys: [], prefixes: [], isEverything: true, records: records)
  }

  /// Single keys and prefixes, and records of the library's own.
  public init(keys: [StoreKey], prefixes: [StoreKey] = [], records: [SystemRecordName] = []) {
    self.init(keys: keys, prefixes: prefixes, isEverything: false, records: records)
  }

  private init(keys: [StoreKey], prefixes: [StoreKey], isEverything: Bool, records: [SystemRecordName]) {
    (self.keys, self.prefixes, self.isEverything, self.records) = (keys, prefixes, isEverything, records)
  }

  /// Whether nothing was changed.
  public var isEmpty: Bool { !hasValues && records.isEmpty }

  /// Whether a value may have been changed, and not only records of the library's own.
  public var hasValues: Bool { isEverything || !keys.isEmpty || !prefixes.isEmpty }

  /// Whether the value of `key` may have changed. Linear in the size of the selection.
  public func contains(_ key: StoreKey) -> Bool {
    isEverything || keys.contains(key) || prefixes.contains { key.hasPrefix($0) }
  }
}
