public import Foundation

/// A list of changes of values of any types, which are committed together: all of them or none.
///
/// ```swift
/// try await store.batch { batch in
///   try batch.save("Ann", for: "name")
///   try batch.save(31, for: "age")
///   batch.delete("nickname")
/// }
/// ```
public struct StoreBatch: Sendable {
  fileprivate var operations: [WriteBatch.Operation] = []
  fileprivate var written: [(key: StoreKey, box: (any AnyBox)?)] = []
  fileprivate let coding: ByteCoding

  /// Stores a value, replacing any existing one.
  /// - Parameters:
  ///   - value: the value.
  ///   - key: the key of the value.
  ///   - expires: the date from which the value is absent; `nil` for a value that does not expire.
  /// - Throws: `StorageError` with code `encodingFailed`.
  public mutating func save<T: Encodable & Sendable>(_ value: T, for key: StoreKey, expires: Date? = nil) throws {
    let encoded = try coding.encode(value, for: key).expiring(expires)
    operations.append(.put(key, encoded.data, encoded.attributes))
    written.append((key, Box(value, size: encoded.data.count)))
  }

  /// Removes a value. Removing a missing value is not an error.
  public mutating func delete(_ key: StoreKey) {
    operations.append(.delete(key))
    written.append((key, nil))
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
    durability: StoreDurability = .full, transaction: TransactionID? = nil, _ build: (inout StoreBatch) throws -> Void
  ) async throws {
    var changes = StoreBatch(coding: coding)
    try build(&changes)
    guard !changes.operations.isEmpty else { return }
    try requireAtomicBatches(count: changes.operations.count)
    let batch = WriteBatch(changes.operations, transaction: transaction, durability: durability)
    try await write(batch, changes.written, traits)
  }
}
