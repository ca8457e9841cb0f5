public import Foundation

/// A list of operations that are applied together or not at all.
///
/// ```swift
/// var batch = WriteBatch()
/// batch.require(counter, at: seen)      // fails if another writer changed it since
/// batch.put(counter, Data("42".utf8))
/// try await engine.commit(batch, from: origin)
/// ```
public struct WriteBatch: Sendable {
  /// One operation of a batch.
  public enum Operation: Hashable, Sendable {
    /// Stores a value with its attributes, replacing any existing ones.
    case put(KeyName, Data, ValueAttributes = .none)
    /// Removes a value. Does nothing if there is none.
    case delete(KeyName)
    /// Removes every value whose key starts with the prefix; `nil` removes all values.
    case clear(prefix: KeyName?)
    /// Fails the batch unless the key is at this revision **before** the batch; `nil` means absent.
    case require(KeyName, StoreRevision?)
    /// Stores a system record, replacing any existing one.
    case putRecord(SystemRecord.Name, Data)
    /// Removes a system record. Does nothing if there is none.
    case deleteRecord(SystemRecord.Name)
    /// Fails the batch unless the record is at this revision before the batch; `nil` means absent.
    case requireRecord(SystemRecord.Name, StoreRevision?)
  }

  /// What the operations of a batch contain, so that nobody searches them for what most batches do not have.
  package struct Traits: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let conditions = Traits(rawValue: 1)
    /// System records that are stored, removed or required.
    package static let records = Traits(rawValue: 2)
    package static let attributes = Traits(rawValue: 4)
    /// Values that expire.
    package static let expiries = Traits(rawValue: 8)
  }

  /// The operations, applied in order after every `require` has been checked.
  public private(set) var operations: [Operation] = []
  /// The traits of the operations, noted when they are added, as are the sizes.
  package private(set) var traits: Traits = []
  /// The total size of the values in bytes.
  package private(set) var size = 0
  private var largestValue = 0
  /// The identifier of the logical change that the batch belongs to; if it is `nil`, the engine generates one.
  public var transaction: TransactionID?
  /// The durability that the batch has when `commit` returns.
  public var durability: StoreDurability

  /// Creates an empty batch.
  public init(transaction: TransactionID? = nil, durability: StoreDurability = .full) {
    self.transaction = transaction
    self.durability = durability
  }

  /// Creates a batch of the given operations.
  public init(_ operations: [Operation], transaction: TransactionID? = nil, durability: StoreDurability = .full) {
    self.operations = operations
    self.transaction = transaction
    self.durability = durability
    for operation in operations { note(operation) }
  }

  private mutating func append(_ operation: Operation) {
    operations.append(operation)
    note(operation)
  }

  private mutating func note(_ operation: Operation) {
    switch operation {
    case .put(_, let value, let attributes):
      size += value.count
      largestValue = max(largestValue, value.count)
      if !attributes.isEmpty { traits.formUnion(attributes.expires == nil ? .attributes : [.attributes, .expiries]) }
    case .delete, .clear: break
    case .require: traits.insert(.conditions)
    case .putRecord, .deleteRecord: traits.insert(.records)
    case .requireRecord: traits.formUnion([.records, .conditions])
    }
  }

  /// Adds an operation that stores a value with its attributes, replacing any existing ones.
  public mutating func put(_ key: KeyName, _ value: Data, _ attributes: ValueAttributes = .none) {
    append(.put(key, value, attributes))
  }
  /// Adds an operation that removes a value, if there is one.
  public mutating func delete(_ key: KeyName) { append(.delete(key)) }
  /// Adds an operation that removes every value whose key starts with `prefix`, or all values if it is `nil`.
  public mutating func clear(prefix: KeyName? = nil) { append(.clear(prefix: prefix)) }
  /// Adds a precondition: the batch fails unless `key` is at `revision` (`nil`: absent) before it.
  public mutating func require(_ key: KeyName, at revision: StoreRevision?) {
    append(.require(key, revision))
  }

  /// The keys, prefixes and system records that the batch changes.
  public var selection: StoreSelection {
    var keys: [KeyName] = []
    var prefixes: [KeyName] = []
    var records: [SystemRecord.Name] = []
    var everything = false
    keys.reserveCapacity(operations.count)
    for operation in operations {
      switch operation {
      case .put(let key, _, _), .delete(let key): keys.append(key)
      case .clear(let prefix?): prefixes.append(prefix)
      case .clear(nil): everything = true
      case .putRecord(let name, _), .deleteRecord(let name): records.append(name)
      case .require, .requireRecord: break
      }
    }
    return everything
      ? .everything(records: records) : StoreSelection(keys: keys, prefixes: prefixes, records: records)
  }

  /// Checks the batch against the capabilities of an engine.
  /// - Throws: ``StorageError``: `valueTooLarge` with the key if a value or its attributes exceed their limit;
  ///   `unsupported` for attributes and system records that are not declared.
  package func check(_ capabilities: StoreCapabilities, location: @autoclosure () -> String) throws {
    let limit = capabilities.maximumValueSize
    if largestValue > limit || traits.contains(.attributes) {
      try checkValues(capabilities, location(), limit)
    }
    guard traits.contains(.records), !capabilities.contains(.systemRecords) else { return }
    throw StorageError.unsupported(
      "system records", advice: "Keep them in one of the built-in engines. Nothing was written.", location: location())
  }

  private func checkValues(_ capabilities: StoreCapabilities, _ location: String, _ limit: Int) throws {
    for case .put(let key, let value, let attributes) in operations {
      guard value.count <= limit else {
        throw StorageError(
          .valueTooLarge, "The value has \(value.count) bytes; this store takes up to \(limit).",
          advice: "Split it, or keep it in a file and store its path. Nothing was written.", location: location,
          key: key)
      }
      if !attributes.isEmpty { try check(attributes, of: key, capabilities, location) }
    }
  }

  private func check(
    _ attributes: ValueAttributes, of key: KeyName, _ capabilities: StoreCapabilities, _ location: String
  ) throws {
    guard capabilities.contains(.attributes) else {
      throw StorageError.unsupported(
        "attributes of values", advice: "Store the same data in the value. Nothing was written.", location: location
      ).locating(at: location, key: key)
    }
    guard attributes.applicationSize <= ValueAttributes.maximumSize else {
      throw StorageError(
        .valueTooLarge,
        "The attributes have \(attributes.applicationSize) bytes; the limit is \(ValueAttributes.maximumSize).",
        advice: "Store some of them in the value. Nothing was written.", location: location, key: key)
    }
  }
}

extension [WriteBatch.Operation] {
  /// The key of the first value that is no envelope.
  package var firstPlainKey: KeyName? {
    for case .put(let key, let value, let attributes) in self where SealedValue.isRefused(value, attributes) {
      return key
    }
    return nil
  }
}

extension WriteBatch.Operation {
  /// Whether the operation concerns a system record rather than a value.
  package var isAboutRecord: Bool {
    switch self {
    case .putRecord, .deleteRecord, .requireRecord: true
    case .put, .delete, .clear, .require: false
    }
  }
}
