public import CofferCore

extension ClearReport {
  /// The values that a clear removes.
  public enum Content: Hashable, Sendable {
    /// All values except secrets.
    case values
    /// All values, including secrets.
    case valuesAndSecrets
  }
}

/// A report of what a clear has removed, or would remove, and what it has left, store by store.
///
/// ```swift
/// let report = try await router.clear(owner: "Account", .valuesAndSecrets)
/// if !report.isComplete { retryLater(report.failures) }
/// ```
///
/// The report contains names of keys, but no values.
public struct ClearReport: Sendable {
  /// The part of the report about one store.
  public struct Store: Sendable {
    /// The location of the store.
    public let store: String
    /// The keys whose values were removed, in one commit where the engine has atomic batches; in a dry run those that
    /// would be. Keys without a value are omitted.
    public internal(set) var removed: [KeyName] = []
    /// The keys that were left, with the reason. Whether they have a value may be unknown.
    public internal(set) var left: [LeftKey] = []
  }

  /// A key that was left.
  public struct LeftKey: Sendable {
    /// The key.
    public let key: KeyName
    /// The reason why it was left.
    public let reason: Reason
  }

  /// The reason why a key was left.
  public enum Reason: Sendable {
    /// The key is a secret, and secrets were not named. Its store was not asked whether there is a value.
    case secret
    /// The store could not be read or written. Clear again once it can: that removes what is left.
    case failed(StorageError)
  }

  /// Whether nothing was removed, because the report only shows what would be.
  public let isDryRun: Bool
  /// The stores of the keys, in the order of their names.
  public internal(set) var stores: [Store] = []

  /// The removed keys of all stores.
  public var removed: [KeyName] { stores.flatMap(\.removed) }

  /// The errors that left keys in their stores, one for each key.
  public var failures: [StorageError] {
    stores.flatMap(\.left).compactMap { if case .failed(let error) = $0.reason { error } else { nil } }
  }

  /// Whether no failure left anything in a store. Secrets that were not named do not count.
  public var isComplete: Bool { failures.isEmpty }
}
