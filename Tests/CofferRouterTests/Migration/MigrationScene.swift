import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// One root with older values, and what is below it.
struct MigrationScene {
  static let value = "a plain text of the version before"
  let fixture: RouterFixture
  var root: String { fixture.path("migrated") }
  let older: [TypedKey<String>]
  let newer: [TypedKey<String>]

  /// - Parameter filler: the number of bytes that the database has beside the values.
  init(filler: Int = 0) async throws {
    fixture = try RouterFixture()
    let root = fixture.path("migrated")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let database = StorageDomain.database(URL(fileURLWithPath: root + "/store.db"))
    let files = StorageDomain.fileSystem(.custom(URL(fileURLWithPath: root + "/files")))
    let homes: [(String, StorageDomain, StorageDomain)] = [
      ("same", database, database), ("database", files, database),
      ("files", .userDefaults(suite: "com.example.migrated"), files),
    ]
    let older = homes.map { plain("old \($0.0)", String.self, in: $0.1) }
    self.older = older
    newer = zip(homes, older).map { home, old in
      TypedKey<String>(home.0, in: home.2, owner: "Tests", about: "For a test.", security: .encrypted(.aes256))
        .migrating { AnyStorageMigration(from: old, to: $0) }
    }
    try await use { router in
      for key in older {
        // A replaced value leaves its bytes in free pages and in the log.
        try await router.set(Self.value + " and longer", for: key)
        try await router.set(Self.value, for: key)
      }
      for number in 0..<(filler >> 20) {
        let data = Data(repeating: UInt8(number & 0xFF), count: 1 << 20)
        try await router.set(data, for: plain("filler \(number)", Data.self, in: database))
      }
    }
  }

  func use<R>(_ body: (StorageRouter) async throws -> R) async throws -> R {
    let settings = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
    return try await fixture.use(settings, body)
  }

  /// The files that contain the older value in plain, or in the UTF-16 of a property list.
  func copies() throws -> [String] {
    var found: [String] = []
    let needles = [Data(Self.value.utf8), Self.value.data(using: .utf16BigEndian) ?? Data()]
    let top = URL(fileURLWithPath: fixture.path(""))
    for case let url as URL in try #require(FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil)) {
      guard let data = try? Data(contentsOf: url) else { continue }
      if needles.contains(where: { data.range(of: $0) != nil }) { found.append(url.path) }
    }
    return found
  }

  func helper(_ arguments: [String] = [], fault: String? = nil) throws -> HelperProcess {
    var environment = [
      ("HOME", fixture.path("home")), ("XDG_CONFIG_HOME", fixture.path("config")),
      ("XDG_DATA_HOME", fixture.path("data")),
    ]
    if let fault {
      environment += [
        ("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_FAULT_ROOT", fixture.path("")), ("COFFER_FAULT", fault),
      ]
    }
    return try HelperProcess(["router-migrate", root] + arguments, environment: environment)
  }

  /// Each value can be read by its older key or by the new one, and is complete.
  func expectNothingLost(_ comment: Comment) async throws {
    try await use { (router: StorageRouter) async throws -> Void in
      for (old, key) in zip(older, newer) {
        let new = plain(key.name, String.self, in: key.domain, security: .encrypted(.aes256))
        let before = try await router.exists(old) ? router.get(old) : nil
        let after = try await router.exists(new) ? router.get(new) : nil
        #expect(before != nil || after != nil, comment)
        #expect([nil, Self.value].contains(before) && [nil, Self.value].contains(after), comment)
      }
    }
  }

  /// The next access completes the migration, and no file has the value in plain.
  /// - Parameter forcing: whether this is also checked before the router is closed.
  func expectCompletion(_ comment: Comment, forcing: Bool = true) async throws {
    try await use { (router: StorageRouter) async throws -> Void in
      for key in newer { #expect(try await router.get(key) == Self.value, comment) }
      for key in older { #expect(try await !router.exists(key), comment) }
      guard forcing else { return }
      for key in newer { #expect(try await router.forceMigration(for: key).migratedCount == 0, comment) }
      #expect(try copies() == [], comment)
    }
    #expect(try copies() == [], comment)
  }
}

/// The state of the migration of a router's first registered key, as its audit has it.
func migrationState(in router: StorageRouter) async -> AuditReport.MigrationState? {
  await router.auditReport().entries.first?.migration
}

/// A key in a database and one in preferences, of which one encrypted value in files is made.
struct AggregatedKeys {
  let older: [TypedKey<String>]
  let newer: TypedKey<[String]>

  init(root: String) {
    let database = StorageDomain.database(URL(fileURLWithPath: root + "/store.db"))
    let homes: [(String, StorageDomain)] = [
      ("first", database), ("last", .userDefaults(suite: "com.example.migrated")),
    ]
    let older = homes.map { TypedKey<String>($0.0, in: $0.1, owner: "Tests", about: "For a test.") }
    self.older = older
    newer = TypedKey<[String]>(
      "both", in: .fileSystem(.custom(URL(fileURLWithPath: root + "/files"))), owner: "Tests", about: "For a test.",
      security: .encrypted(.aes256)
    ).migrating { key in
      AnyStorageMigration(from: older.map { .key($0) }, to: key) { values in
        older.compactMap { values[$0] }
      }
    }
  }
}
