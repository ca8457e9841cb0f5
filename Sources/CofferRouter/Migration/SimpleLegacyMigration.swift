/// Moves a value that is stored under an older key to its current key, which may be in another store.
///
/// ```swift
/// static let token = TypedKey<String>(secret: "token", in: .keychain(), owner: "Account", about: "The session.")
///   .migrating { AnyStorageMigration(SimpleLegacyMigration(destinationKey: $0, sourceKey: .key(.oldToken))) }
/// ```
///
/// Both keys must have the same type of values; their stores, protections and serializers can differ. If the current
/// key has a value of its own already, that one stays, and so does the older one: see
/// ``MigrationOutcome/destinationKept``.
public struct SimpleLegacyMigration<Key: StorageKey>: StorageMigration {
  /// The key that receives the value.
  public let destinationKey: Key
  /// The older key.
  public let sourceKey: AnyStorageKey

  /// Creates a migration.
  /// - Parameters:
  ///   - destinationKey: the key that receives the value.
  ///   - sourceKey: the older key, whose values must have the type of those of `destinationKey`.
  public init(destinationKey: Key, sourceKey: AnyStorageKey) {
    self.destinationKey = destinationKey
    self.sourceKey = sourceKey
  }

  public var name: String { "SimpleLegacyMigration(\(sourceKey.nameInMigrations))" }

  public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
    try await router.hasValue([sourceKey], for: destinationKey)
  }

  public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    let (name, source) = (destinationKey.name, sourceKey.descriptor)
    return try await router.move([sourceKey], to: destinationKey, name: self.name) { values in
      guard let value = values.first as? Key.Value else {
        throw MigrationError.transformFailed(
          key: name, reason: "the older key has values of \(source.valueType) instead of \(Key.Value.self)")
      }
      return value
    }
  }
}
