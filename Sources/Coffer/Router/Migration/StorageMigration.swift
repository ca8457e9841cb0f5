/// A migration of an older form of a value to its current key.
///
/// This version has the types only: the router refuses a key with a migration.
public protocol StorageMigration<Key>: Sendable {
  /// The type of the destination key.
  associatedtype Key: StorageKey

  /// The key under which the migrated value is stored.
  var destinationKey: Key { get }
  /// Returns whether the migration is needed.
  /// - Throws: Any error if that cannot be determined.
  func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool
  /// Performs the migration using `router`. Must be idempotent: an interrupted migration is run again.
  /// - Throws: Any error that ends the migration; errors of single values belong to the result.
  func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult
}

/// A type-erased migration.
public struct AnyStorageMigration: Sendable {
  /// The name of the destination key.
  public let destination: String
  private let check: @Sendable (StorageRouter, MigrationContext) async throws -> Bool
  private let run: @Sendable (StorageRouter, MigrationContext) async throws -> MigrationResult

  /// Creates a type-erased migration.
  public init(_ migration: some StorageMigration) {
    destination = migration.destinationKey.name
    check = { try await migration.shouldMigrate(using: $0, context: $1) }
    run = { try await migration.migrate(using: $0, context: $1) }
  }

  /// Returns whether the migration is needed.
  /// - Throws: The errors of the wrapped migration.
  public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
    try await check(router, context)
  }

  /// Performs the migration using `router`.
  /// - Throws: The errors of the wrapped migration.
  public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    try await run(router, context)
  }
}

/// The environment in which a migration runs.
public struct MigrationContext: Sendable {
  /// The version of the application, such as `2.1.0`; empty if unknown.
  public var appVersion: String
  /// The version of the application that ran last; `nil` at the first launch.
  public var previousAppVersion: String?
  /// The device that the application runs on.
  public var device: DeviceInfo
  /// The operating system and its free resources.
  public var system: SystemInfo

  /// Creates a context, by default with the current device and system.
  public init(
    appVersion: String = "", previousAppVersion: String? = nil, device: DeviceInfo = .current,
    system: SystemInfo = .current
  ) {
    self.appVersion = appVersion
    self.previousAppVersion = previousAppVersion
    self.device = device
    self.system = system
  }
}

/// The outcome of a migration.
public struct MigrationResult: Sendable {
  /// Whether all values were migrated.
  public var success: Bool
  /// The number of migrated values.
  public var migratedCount: Int
  /// The errors of the values that were not migrated.
  public var errors: [MigrationError]
  /// Additional information about the migration.
  public var metadata: [String: AnyCodable]

  /// Creates a result.
  public init(
    success: Bool, migratedCount: Int = 0, errors: [MigrationError] = [], metadata: [String: AnyCodable] = [:]
  ) {
    self.success = success
    self.migratedCount = migratedCount
    self.errors = errors
    self.metadata = metadata
  }
}

/// An error of a migration.
public enum MigrationError: Error, Hashable, Sendable {
  /// There is no value to migrate.
  case sourceNotFound(key: String)
  /// The older value could not be read.
  case sourceUnreadable(key: String, reason: String)
  /// The older value could not be converted to the new type.
  case transformFailed(key: String, reason: String)
  /// The new value could not be stored; the older one is unchanged.
  case destinationFailed(key: String, reason: String)
  /// The router does not support migrations.
  case unsupported(key: String)
}
