public import Foundation

extension TypedStore {
  /// A list of changes of values of any types, which are committed together: all of them or none.
  ///
  /// ```swift
  /// try await store.batch { batch in
  ///   try batch.save("Ann", for: "name")
  ///   try batch.save(31, for: "age")
  ///   batch.delete("nickname")
  /// }
  /// ```
  public struct Batch: Sendable {
    fileprivate var operations: [WriteBatch.Operation] = []
    fileprivate var written: [(key: KeyName, box: (any AnyBox)?)] = []
    fileprivate var traits: ValueTraits = []
    fileprivate let store: TypedStore

    /// Stores a value, replacing any existing one.
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key of the value.
    ///   - expires: the date from which the value is absent; `nil` for a value that does not expire.
    /// - Throws: `StorageError` with code `encodingFailed`.
    public mutating func save<T: Encodable & Sendable>(_ value: T, for key: KeyName, expires: Date? = nil) throws {
      save(try CodedValue(store: store, key: key).ready(value, expires: expires))
    }

    package mutating func save(_ value: ReadyValue) { add(value.operation, value.traits, (value.key, value.box)) }

    /// Removes a value. Removing a missing value is not an error.
    public mutating func delete(_ key: KeyName) { delete(key, store.traits) }

    package mutating func delete(_ key: KeyName, _ traits: ValueTraits) { add(.delete(key), traits, (key, nil)) }

    package mutating func clear(prefix: KeyName, _ traits: ValueTraits) {
      written.removeAll { $0.key.hasPrefix(prefix) }
      add(.clear(prefix: prefix), traits, nil)
    }

    private mutating func add(
      _ operation: WriteBatch.Operation, _ traits: ValueTraits, _ written: (key: KeyName, box: (any AnyBox)?)?
    ) {
      operations.append(operation)
      self.traits.formUnion(traits)
      if let written { self.written.append(written) }
    }
  }
}

extension TypedStore {
  /// Changes several values of any types in one commit: all of them or none. If a key occurs twice, the last change
  /// wins. The batch sees no stored values; use `transaction` if a change depends on one.
  /// - Parameters:
  ///   - durability: the failures that the changes survive once the call returns.
  ///   - transaction: the logical change that the batch belongs to; a new one by default.
  ///   - build: adds the changes to the batch.
  /// - Throws: Any error of `build`; `StorageError`: `unsupported` when there are several changes and the engine has no
  ///   atomic batches. Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  public func batch(
    durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ build: (inout TypedStore.Batch) throws -> Void
  ) async throws {
    var changes = TypedStore.Batch(store: self)
    try build(&changes)
    let count = changes.operations.count
    guard count > 0 else { return }
    guard count == 1 || engine.isReadOnly || engine.capabilities.contains(.atomicBatches) else {
      throw StorageError.unsupported(
        "writing several values at once", advice: "Write them one by one. Nothing was written.",
        location: engine.description)
    }
    let batch = WriteBatch(changes.operations, transaction: transaction, durability: durability)
    try await write(batch, changes.written, changes.traits)
  }
}
