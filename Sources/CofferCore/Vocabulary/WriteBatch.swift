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
    /// Stores a value, replacing what was there.
    case put(Key, Data)
    /// Removes a value; a missing one is no error.
    case delete(Key)
    /// Removes every value whose key starts with the prefix; `nil` removes all.
    case clear(prefix: Key?)
    /// Fails the batch unless the key is at this revision **before** the batch; `nil` means absent.
    case require(Key, Revision?)
  }

  /// The steps, applied in order after every `require` has been checked.
  public private(set) var operations: [Operation] = []
  /// The logical change that this batch belongs to; `nil` lets the engine make one.
  public var transaction: TransactionID?
  /// What the batch has survived when `commit` returns.
  public var durability: Durability

  /// An empty batch.
  public init(transaction: TransactionID? = nil, durability: Durability = .full) {
    self.transaction = transaction
    self.durability = durability
  }

  /// A batch of the given steps.
  public init(_ operations: [Operation], transaction: TransactionID? = nil, durability: Durability = .full) {
    self.operations = operations
    self.transaction = transaction
    self.durability = durability
  }

  /// Stores a value.
  public mutating func put(_ key: Key, _ value: Data) { operations.append(.put(key, value)) }
  /// Removes a value.
  public mutating func delete(_ key: Key) { operations.append(.delete(key)) }
  /// Removes every value whose key starts with `prefix`, or all.
  public mutating func clear(prefix: Key? = nil) { operations.append(.clear(prefix: prefix)) }
  /// Fails the batch unless `key` is at `revision` (`nil`: absent) before it.
  public mutating func require(_ key: Key, at revision: Revision?) { operations.append(.require(key, revision)) }

  /// What the batch will change.
  public var selection: Selection {
    var keys: [Key] = []
    var prefixes: [Key] = []
    var everything = false
    keys.reserveCapacity(operations.count)
    for operation in operations {
      switch operation {
      case .put(let key, _), .delete(let key): keys.append(key)
      case .clear(let prefix?): prefixes.append(prefix)
      case .clear(nil): everything = true
      case .require: break
      }
    }
    return everything ? .everything : Selection(keys: keys, prefixes: prefixes)
  }

  /// Throws when a value is larger than `limit` bytes, naming the key.
  package func checkSizes(limit: Int, backend: String) throws {
    for case .put(let key, let value) in operations where value.count > limit {
      throw StorageError(
        .valueTooLarge, "The value has \(value.count) bytes; this store takes up to \(limit).",
        advice: "Split it, or keep it in a file and store its path. Nothing was written.", backend: backend, key: key)
    }
  }
}
