public import Foundation

/// Changes that happen together or not at all.
///
/// ```swift
/// var batch = WriteBatch()
/// batch.require(counter, at: seen)      // nobody else changed it since
/// batch.put(counter, Data("42".utf8))
/// try await engine.commit(batch, from: origin)
/// ```
public struct WriteBatch: Sendable {
  /// One step of a batch.
  public enum Operation: Hashable, Sendable {
    /// Stores a value with its attributes, replacing what was there.
    case put(StoreKey, Data, ValueAttributes = .none)
    /// Removes a value; a missing one is no error.
    case delete(StoreKey)
    /// Removes every value whose key starts with the prefix; `nil` removes all.
    case clear(prefix: StoreKey?)
    /// Fails the batch unless the key is at this revision **before** the batch; `nil` means absent.
    case require(StoreKey, StoreRevision?)
    /// Stores a record of the library's own.
    case putRecord(SystemRecordName, Data)
    /// Removes a record of the library's own; a missing one is no error.
    case deleteRecord(SystemRecordName)
    /// Fails the batch unless the record is at this revision before the batch; `nil` means absent.
    case requireRecord(SystemRecordName, StoreRevision?)
  }

  /// The steps, applied in order after every `require` has been checked.
  public private(set) var operations: [Operation] = []
  /// The logical change that this batch belongs to; `nil` lets the engine make one.
  public var transaction: TransactionID?
  /// What the batch has survived when `commit` returns.
  public var durability: StoreDurability

  /// An empty batch.
  public init(transaction: TransactionID? = nil, durability: StoreDurability = .full) {
    self.transaction = transaction
    self.durability = durability
  }

  /// A batch of the given steps.
  public init(_ operations: [Operation], transaction: TransactionID? = nil, durability: StoreDurability = .full) {
    self.operations = operations
    self.transaction = transaction
    self.durability = durability
  }

  /// Stores a value with its attributes.
  public mutating func put(_ key: StoreKey, _ value: Data, _ attributes: ValueAttributes = .none) {
    operations.append(.put(key, value, attributes))
  }
  /// Removes a value.
  public mutating func delete(_ key: StoreKey) { operations.append(.delete(key)) }
  /// Removes every value whose key starts with `prefix`, or all.
  public mutating func clear(prefix: StoreKey? = nil) { operations.append(.clear(prefix: prefix)) }
  /// Fails the batch unless `key` is at `revision` (`nil`: absent) before it.
  public mutating func require(_ key: StoreKey, at revision: StoreRevision?) {
    operations.append(.require(key, revision))
  }

  /// What the batch will change.
  public var selection: StoreSelection {
    var keys: [StoreKey] = []
    var prefixes: [StoreKey] = []
    var records: [SystemRecordName] = []
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

  /// Throws when a value or its attributes are more than an engine takes, naming the key.
  package func check(_ capabilities: StoreCapabilities, backend: String) throws {
    let limit = capabilities.maximumValueSize
    for case .put(let key, let value, let attributes) in operations {
      guard value.count <= limit else {
        throw StorageError(
          .valueTooLarge, "The value has \(value.count) bytes; this store takes up to \(limit).",
          advice: "Split it, or keep it in a file and store its path. Nothing was written.", backend: backend, key: key)
      }
      if !attributes.isEmpty { try check(attributes, of: key, capabilities, backend) }
    }
    guard !capabilities.contains(.systemRecords), operations.contains(where: \.isAboutRecord) else { return }
    throw StorageError.unsupported(
      "records of the library's own", advice: "Keep them in one of the built-in engines. Nothing was written.",
      backend: backend)
  }

  private func check(
    _ attributes: ValueAttributes, of key: StoreKey, _ capabilities: StoreCapabilities, _ backend: String
  ) throws {
    guard capabilities.contains(.attributes) else {
      throw StorageError.unsupported(
        "attributes of values", advice: "Store what they say in the value. Nothing was written.", backend: backend
      ).locating(backend: backend, key: key)
    }
    guard attributes.applicationSize <= ValueAttributes.maximumSize else {
      throw StorageError(
        .valueTooLarge,
        "The attributes have \(attributes.applicationSize) bytes; a store takes up to \(ValueAttributes.maximumSize).",
        advice: "Store some of them in the value. Nothing was written.", backend: backend, key: key)
    }
  }
}

extension WriteBatch.Operation {
  /// Whether it is about a record of the library's own, and not about a value.
  package var isAboutRecord: Bool {
    switch self {
    case .putRecord, .deleteRecord, .requireRecord: true
    case .put, .delete, .clear, .require: false
    }
  }
}
