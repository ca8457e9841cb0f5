/// A migration of an older form of a value to its current key.
///
/// A router runs the migration of a key before the key's first access, whatever kind of access that is, once for all
/// tasks, and records that it is done. It is not run again unless its ``name`` changes or
/// ``StorageRouter/forceMigration(for:)`` asks for it. If it fails, the access throws, and the next one tries again.
///
/// Most migrations move the value of another key, for which no type is needed: see
/// ``AnyStorageMigration/init(from:to:)``.
public protocol StorageMigration<Key>: Sendable {
  /// The type of the destination key.
  associatedtype Key: StorageKey

  /// The key under which the migrated value is stored.
  var destinationKey: Key { get }
  /// The name by which the router records that the migration is done; by default the name of the type. A migration
  /// with another name runs again.
  var name: String { get }
  /// Returns whether the migration is needed. If it is not, the router records that and does not ask again.
  /// - Throws: Any error if that cannot be determined.
  func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool
  /// Performs the migration using `router`, by which it may also access keys of older values that are in no catalog.
  /// Must be idempotent: an interrupted migration is run again, and two processes may run it at the same time.
  /// - Throws: Any error that ends the migration; errors of single values belong to the result.
  func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult
}

extension StorageMigration {
  public var name: String { String(describing: Self.self) }
}

/// A migration of a key: one that moves the values of older keys, or a type-erased ``StorageMigration``.
public struct AnyStorageMigration: Sendable {
  /// The name of the destination key.
  public let destination: String
  /// The name by which a router records that the migration is done.
  public let name: String
  let check: @Sendable (StorageRouter, MigrationContext) async throws -> Bool
  let run: @Sendable (StorageRouter, MigrationContext) async throws -> MigrationResult
  /// Removes what an earlier process has left of plain values that were moved to a protected key.
  let resume: @Sendable (StorageRouter) async throws -> Void

  /// Creates a type-erased migration.
  public init(_ migration: some StorageMigration) {
    self.init(
      destination: migration.destinationKey.name, name: migration.name,
      check: { try await migration.shouldMigrate(using: $0, context: $1) },
      run: { try await migration.migrate(using: $0, context: $1) }, resume: { _ in })
  }

  init(
    destination: String, name: String,
    check: @escaping @Sendable (StorageRouter, MigrationContext) async throws -> Bool,
    run: @escaping @Sendable (StorageRouter, MigrationContext) async throws -> MigrationResult,
    resume: @escaping @Sendable (StorageRouter) async throws -> Void
  ) {
    (self.destination, self.name) = (destination, name)
    (self.check, self.run, self.resume) = (check, run, resume)
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
  /// The version of the application that last migrated the key, or found that there was nothing to migrate; `nil` if
  /// none has, as at the first launch and after a version without migrations.
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
  /// Whether the migration is done: all values were migrated, or there was nothing to migrate.
  public var success: Bool
  /// The number of values that were migrated by this run.
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
  /// The migration cannot be run with this key.
  case unsupported(key: String)
}
