public import Foundation

/// A value with the revision at which it was read, for a write that must not overwrite a later change.
///
/// ```swift
/// let page = try await store.loadVersioned(Page.self, for: "start")
/// let edited = try await editor.edit(page.value)
/// try await store.saveIfUnchanged(edited, for: "start", since: page.revision)
/// ```
public struct Versioned<Value: Sendable>: Sendable {
  /// The value; `nil` if it is proven absent.
  public let value: Value?
  /// The revision of the commit that wrote the value; `nil` if it is absent.
  public let revision: StoreRevision?

  /// Creates a value with its revision.
  public init(_ value: Value?, revision: StoreRevision?) {
    self.value = value
    self.revision = revision
  }
}

extension Versioned: Equatable where Value: Equatable {}
extension Versioned: Hashable where Value: Hashable {}

extension TypedStore {
  /// Returns the value of a key with its revision, read from the engine.
  /// - Throws: `StorageError`: `decodingFailed` when the stored bytes are not a `T`; `unsupported` for an engine
  ///   without revisions.
  public func loadVersioned<T: Decodable & Sendable>(_ type: T.Type, for key: KeyName) async throws -> Versioned<T> {
    try await loadVersioned(CodedValue<T>(store: self, key: key))
  }

  package func loadVersioned<P: ValuePlan>(_ plan: P) async throws -> Versioned<P.Value> {
    try await pending?.flush([plan.key])
    return try await reading {
      let entry = try await engine.versionedEntry(plan.key)
      return Versioned(try entry.map { try plan.decode(EncodedValue($0)) }, revision: entry?.revision)
    } damaged: {
      try await plan.handle($0)
    }
  }

  /// Stores a value unless another writer has changed it since it was read.
  /// - Parameters:
  ///   - value: the value.
  ///   - key: the key of the value.
  ///   - revision: the revision at which the value was read; `nil` if it was absent.
  ///   - expires: the date from which the value is absent; `nil` for a value that does not expire.
  ///   - durability: the failures that the value survives once the call returns.
  ///   - transaction: the logical change that the write belongs to; a new one by default.
  /// - Returns: the new revision of the value.
  /// - Throws: `StorageError`: `preconditionFailed` when it was changed, `unsupported` for an engine without
  ///   preconditions. Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  @discardableResult
  public func saveIfUnchanged<T: Encodable & Sendable>(
    _ value: T, for key: KeyName, since revision: StoreRevision?, expires: Date? = nil,
    durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws -> StoreRevision {
    let value = try CodedValue(store: self, key: key).ready(value, expires: expires)
    return try await saveIfUnchanged(value, since: revision, durability, transaction)
  }

  package func saveIfUnchanged(
    _ value: ReadyValue, since revision: StoreRevision?, _ durability: StoreDurability = .full,
    _ transaction: TransactionID? = nil
  ) async throws -> StoreRevision {
    let key = value.key
    try await pending?.flush([key])
    let batch = WriteBatch(
      [.require(key, revision), value.operation], transaction: transaction, durability: durability)
    return try await commit(try engine.checkingConditions(batch), [(key, value.box)], value.traits).revision
  }

  /// Removes a value unless another writer has changed it since it was read.
  /// - Throws: The errors of `saveIfUnchanged`.
  public func deleteIfUnchanged(
    _ key: KeyName, since revision: StoreRevision?, durability: StoreDurability = .full,
    transaction: TransactionID? = nil
  ) async throws {
    try await pending?.flush([key])
    let batch = WriteBatch([.require(key, revision), .delete(key)], transaction: transaction, durability: durability)
    try await commit(try engine.checkingConditions(batch), [(key, nil)])
  }
}

extension StorageEngine {
  /// Returns the entry of a key, with a revision that a later write can require.
  package func versionedEntry(_ key: KeyName) async throws -> StoreEntry? {
    try requireConditions(isReadOnly ? .revisions : .conditions)
    return try await entry(key)
  }

  /// Returns a batch with preconditions, if the engine can check them.
  package func checkingConditions(_ batch: WriteBatch) throws -> WriteBatch {
    // A store that is open for reading only refuses the commit.
    if !isReadOnly { try requireConditions(.conditions) }
    return batch
  }

  private func requireConditions(_ needed: StoreCapabilities.Features) throws {
    guard capabilities.contains(needed) else {
      throw StorageError.unsupported(
        "writes that depend on a revision", advice: "Save without a condition; a concurrent change is then lost.",
        location: description)
    }
  }
}

extension StoreCapabilities.Features {
  fileprivate static let conditions: Self = [.preconditions, .revisions, .atomicBatches]
}
