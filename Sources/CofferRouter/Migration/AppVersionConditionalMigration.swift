import Foundation

/// Runs another migration only if the key was last migrated by a version of the application before a given one, or
/// by none.
///
/// ```swift
/// AppVersionConditionalMigration(
///   destinationKey: key, minAppVersion: "2.0",
///   fallbackMigration: AnyStorageMigration(SimpleLegacyMigration(destinationKey: key, sourceKey: .key(.oldTheme))))
/// ```
///
/// The version is that of ``MigrationContext/previousAppVersion``, which each key has for itself: a key that version
/// 2 never used is still migrated by version 3. If it is unknown, the migration runs.
public struct AppVersionConditionalMigration<Key: StorageKey>: StorageMigration {
  /// The key that the other migration migrates.
  public let destinationKey: Key
  /// The first version of the application whose values need no migration.
  public let minAppVersion: String
  /// The migration of the values of earlier versions.
  public let fallbackMigration: AnyStorageMigration

  /// Creates a migration.
  /// - Parameters:
  ///   - destinationKey: the key that `fallbackMigration` migrates.
  ///   - minAppVersion: the first version of the application whose values need no migration, such as `2.0`. Numbers
  ///     are compared as numbers, and missing ones are zero.
  ///   - fallbackMigration: the migration of the values of earlier versions.
  public init(destinationKey: Key, minAppVersion: String, fallbackMigration: AnyStorageMigration) {
    self.destinationKey = destinationKey
    self.minAppVersion = minAppVersion
    self.fallbackMigration = fallbackMigration
  }

  public var name: String { "AppVersionConditionalMigration(before \(minAppVersion), \(fallbackMigration.name))" }

  public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
    if let previous = context.previousAppVersion, !previous.isEmpty {
      guard Self.parts(previous).lexicographicallyPrecedes(Self.parts(minAppVersion)) else { return false }
    }
    return try await fallbackMigration.shouldMigrate(using: router, context: context)
  }

  public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    try await fallbackMigration.migrate(using: router, context: context)
  }

  /// Returns the numbers of a version without zeros at the end: 2.1 and 2.1.0 are the same version.
  private static func parts(_ version: String) -> [Int] {
    let numbers = version.split(separator: ".").map { part in Int(part.prefix(while: \.isNumber)) ?? 0 }
    return Array(numbers.reversed().drop { $0 == 0 }.reversed())
  }
}
