import CofferRouter
import CofferTesting
import Testing

// The form of document 4 in which keys are members of a namespace and conform to the protocol.
extension StorageKeys {
  struct UserTokenKey: StorageKey {
    typealias Value = String

    let name = "user_token"
    let domain: StorageDomain = .memory("keychain")
    let security: SecurityPolicy = .none
    let serializer: Serializer<String> = .json
    let owner = "Auth"
    let description = "The current user's token."
    let availability: PlatformAvailability = .all
    let syncPolicy: SyncPolicy = .never

    var migration: AnyStorageMigration? {
      AnyStorageMigration(from: StorageKeys.LegacyTokenKey(), to: self)
    }
  }

  struct LegacyTokenKey: StorageKey {
    typealias Value = String

    let name = "legacy_token"
    let domain: StorageDomain = .memory("defaults")
    let security: SecurityPolicy = .none
    let serializer: Serializer<String> = .json
    let owner = "Auth"
    let description = "The token of earlier versions."
    let availability: PlatformAvailability = .all
    let syncPolicy: SyncPolicy = .never
  }
}

// The later form, in which a key is a value of a generic struct: `TypedKey` here, since `StorageKey` is the protocol.
extension TypedKey where Value == String {
  fileprivate static let legacyToken = TypedKey(
    name: "old_token",
    domain: .userDefaults(suite: nil),
    security: .none,
    serializer: .json,
    owner: "Auth",
    description: "The token of earlier versions.",
    availability: .all,
    syncPolicy: .never
  )

  fileprivate static let modernToken = TypedKey(
    name: "modern_token",
    domain: .memory("keychain"),
    security: .none,
    serializer: .json,
    owner: "Auth",
    description: "The current user's token.",
    availability: .all,
    syncPolicy: .never,
    migration: { key in
      AnyStorageMigration(from: TypedKey.legacyToken, to: key)
    }
  )
}

/// A migration of an application's own, in the printed form of the protocol.
private struct PrintedMigration: StorageMigration {
  let destinationKey = StorageKeys.UserTokenKey()

  func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
    try await router.exists(StorageKeys.LegacyTokenKey())
  }

  func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
    let legacy = StorageKeys.LegacyTokenKey()
    try await router.set(try await router.get(legacy), for: destinationKey)
    try await router.remove(legacy)
    return MigrationResult(success: true)
  }
}

private struct PrintedCatalog: StorageKeyCatalog {
  var allKeys: [AnyStorageKey] { [.key(StorageKeys.UserTokenKey()), .key(TypedKey<String>.modernToken)] }
}

@Suite struct PrintedMigrationTests {
  // Requirement 4.5
  @Test("Both printed forms of a key are migrated")
  func bothForms() async throws {
    let router = StorageRouter.inMemory()
    try await router.set("a", for: StorageKeys.LegacyTokenKey())
    try await router.set("b", for: TypedKey<String>.legacyToken)
    try await router.registerCatalog(PrintedCatalog(), migrateImmediately: true)
    #expect(try await router.get(StorageKeys.UserTokenKey()) == "a")
    #expect(try await router.get(TypedKey<String>.modernToken) == "b")
    let result = try await router.forceMigration(for: StorageKeys.UserTokenKey())
    #expect(result.success && result.migratedCount == 0)
  }

  @Test("A migration can also be performed by hand")
  func byHand() async throws {
    let router = StorageRouter.inMemory()
    try await router.set("a", for: StorageKeys.LegacyTokenKey())
    let migration = AnyStorageMigration(PrintedMigration())
    let context = MigrationContext(appVersion: "2")
    #expect(migration.destination == "user_token" && migration.name == "PrintedMigration")
    #expect(try await migration.shouldMigrate(using: router, context: context))
    #expect(try await migration.migrate(using: router, context: context).success)
    #expect(try await router.get(StorageKeys.UserTokenKey()) == "a")
  }
}
