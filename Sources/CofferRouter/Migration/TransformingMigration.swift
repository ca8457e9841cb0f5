/// A migration that converts the value of an older key to the type of the current one.
///
/// Conform to it with ``transform(_:)``; the rest has default implementations. ``DefaultTransformingMigration`` takes a
/// closure instead.
public protocol TransformingMigration<Key>: StorageMigration {
  /// The type of the older key.
  associatedtype Source: StorageKey

  /// The older key.
  var sourceKey: Source { get }
  /// Converts an older value. It may run more than once for one value, so it must have no side effects.
  /// - Throws: Any error; both values are unchanged then.
  func transform(_ value: Source.Value) async throws -> Key.Value
}

extension TransformingMigration {
  public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
    try await router.hasValue([.key(sourceKey)], for: destinationKey)
  }

  public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    let source = sourceKey
    return try await router.move([.key(source)], to: destinationKey, name: name) { values in
      guard let value = values[source] else { throw MigrationError.sourceNotFound(key: source.name) }
      return try await transform(value)
    }
  }
}

/// Converts the value of an older key with a closure, and moves it to the current key.
///
/// ```swift
/// DefaultTransformingMigration(destinationKey: key, sourceKey: StorageKeys.oldTheme) { (old: String) in
///   Theme(rawValue: old) ?? .system
/// }
/// ```
public struct DefaultTransformingMigration<Key: StorageKey, Source: StorageKey>: TransformingMigration {
  /// The key that receives the value.
  public let destinationKey: Key
  /// The older key.
  public let sourceKey: Source
  private let body: @Sendable (Source.Value) async throws -> Key.Value

  /// Creates a migration.
  /// - Parameters:
  ///   - destinationKey: the key that receives the value.
  ///   - sourceKey: the older key.
  ///   - transform: converts an older value. It may run more than once for one value, so it must have no side effects.
  public init(
    destinationKey: Key, sourceKey: Source,
    transform: @escaping @Sendable (Source.Value) async throws -> Key.Value
  ) {
    self.destinationKey = destinationKey
    self.sourceKey = sourceKey
    body = transform
  }

  public var name: String { "DefaultTransformingMigration(\(AnyStorageKey.key(sourceKey).nameInMigrations))" }

  public func transform(_ value: Source.Value) async throws -> Key.Value { try await body(value) }
}
