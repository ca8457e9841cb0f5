/// A migration that makes one value of the values of several older keys.
///
/// Conform to it with ``aggregate(_:)``; the rest has default implementations. ``DefaultAggregatingMigration`` takes a
/// closure instead.
public protocol AggregatingMigration<Key>: StorageMigration {
  /// The older keys.
  var sourceKeys: [AnyStorageKey] { get }
  /// Makes the new value of the older values, of which there is at least one. It may run more than once, so it must
  /// have no side effects.
  /// - Throws: Any error; all values are unchanged then.
  func aggregate(_ values: MigrationValues) async throws -> Key.Value
}

extension AggregatingMigration {
  public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
    try await router.hasValue(sourceKeys, for: destinationKey)
  }

  public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    try await router.move(sourceKeys, to: destinationKey, name: name) { try await aggregate($0) }
  }
}

/// Makes one value of the values of several older keys with a closure.
///
/// ```swift
/// DefaultAggregatingMigration(destinationKey: key, sourceKeys: [.key(.first), .key(.last)]) { values in
///   Name(first: values[.first] ?? "", last: values[.last] ?? "")
/// }
/// ```
public struct DefaultAggregatingMigration<Key: StorageKey>: AggregatingMigration {
  /// The key that receives the value.
  public let destinationKey: Key
  /// The older keys.
  public let sourceKeys: [AnyStorageKey]
  private let body: @Sendable (MigrationValues) async throws -> Key.Value

  /// Creates a migration.
  /// - Parameters:
  ///   - destinationKey: the key that receives the value.
  ///   - sourceKeys: the older keys.
  ///   - aggregate: makes the new value of the older values, of which there is at least one. It may run more than once,
  ///     so it must have no side effects.
  public init(
    destinationKey: Key, sourceKeys: [AnyStorageKey],
    aggregate: @escaping @Sendable (MigrationValues) async throws -> Key.Value
  ) {
    self.destinationKey = destinationKey
    self.sourceKeys = sourceKeys
    body = aggregate
  }

  public var name: String {
    "DefaultAggregatingMigration(\(sourceKeys.map(\.nameInMigrations).joined(separator: ", ")))"
  }

  public func aggregate(_ values: MigrationValues) async throws -> Key.Value { try await body(values) }
}

/// The older values that a migration reads, by their keys.
public struct MigrationValues: Sendable {
  /// Each value with the name and the domain of its key, in the order of the keys.
  var found: [(name: String, domain: StorageDomain, value: any Sendable)] = []

  /// The value of one of the older keys; `nil` if there is none.
  public subscript<K: StorageKey>(key: K) -> K.Value? {
    found.lazy.filter { $0.name == key.name && $0.domain == key.domain }.compactMap { $0.value as? K.Value }.first
  }

  /// The number of the older keys that have a value.
  public var count: Int { found.count }

  var first: (any Sendable)? { found.first?.value }
}

extension AnyStorageKey {
  /// The key as text in the name of a migration, by which it is recorded.
  var nameInMigrations: String { "'\(key.name.escapingControlCharacters)' in \(descriptor.domain)" }
}
