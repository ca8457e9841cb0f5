/// Brings an older form of a value to its key (document 4).
///
/// This version has the types; the router refuses to use a key with a migration until it can carry one out.
public protocol StorageMigration<Key>: Sendable {
  /// The key that the value is brought to.
  associatedtype Key: StorageKey

  /// The key that the value is brought to.
  var destinationKey: Key { get }
  /// Whether there is anything to do.
  func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool
  /// Performs the migration using `router`. Must be idempotent: an interrupted migration is run again.
  func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult
}

/// A migration to a key of any type (document 4).
public struct AnyStorageMigration: Sendable {
  /// The name of the key that the value is brought to.
  public let destination: String
  private let check: @Sendable (StorageRouter, MigrationContext) async throws -> Bool
  private let run: @Sendable (StorageRouter, MigrationContext) async throws -> MigrationResult

  /// Creates a type-erased migration.
  public init(_ migration: some StorageMigration) {
    destination = migration.destinationKey.name
    check = { try await migration.shouldMigrate(using: $0, context: $1) }
    run = { try await migration.migrate(using: $0, context: $1) }
  }

  /// Whether there is anything to do.
  public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
    try await check(router, context)
  }

  /// Performs the migration using `router`.
  public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    try await run(router, context)
  }
}

/// What a migration may depend on (document 4).
public struct MigrationContext: Sendable {
  /// The version of the application, such as `2.1.0`; empty where nobody has said.
  public var appVersion: String
  /// The version that has run last; `nil` at the first time.
  public var previousAppVersion: String?
  /// The device.
  public var device: DeviceInfo
  /// The system and what it has left.
  public var system: SystemInfo

  /// A context of this device, now.
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

/// How a migration has ended (document 4).
public struct MigrationResult: Sendable {
  /// Whether everything was brought over.
  public var success: Bool
  /// How many values were.
  public var migratedCount: Int
  /// What went wrong.
  public var errors: [MigrationError]
  /// Anything else that is worth telling.
  public var metadata: [String: AnyCodable]

  /// A result.
  public init(
    success: Bool, migratedCount: Int = 0, errors: [MigrationError] = [], metadata: [String: AnyCodable] = [:]
  ) {
    self.success = success
    self.migratedCount = migratedCount
    self.errors = errors
    self.metadata = metadata
  }
}

/// Why a migration failed (document 4).
public enum MigrationError: Error, Hashable, Sendable {
  /// There is no value to bring over.
  case sourceNotFound(key: String)
  /// The older value could not be read.
  case sourceUnreadable(key: String, reason: String)
  /// The older value could not be made one of the new type.
  case transformFailed(key: String, reason: String)
  /// The new value could not be stored; the older one is still there.
  case destinationFailed(key: String, reason: String)
  /// The router cannot carry migrations out.
  case unsupported(key: String)
}
