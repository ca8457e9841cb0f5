import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Freeing the files of a store of the plain values that migrations have moved to protected keys.
@Suite(.blocking, .serialized, .timeLimit(.minutes(5)))
struct MigrationRemainsTests {
  private struct Catalog: StorageKeyCatalog { let allKeys: [AnyStorageKey] }

  private static let count = 12
  private let fixture: RouterFixture
  private let path: String
  private let database: StorageDomain

  init() throws {
    fixture = try RouterFixture()
    path = fixture.path("store.db")
    database = .database(URL(fileURLWithPath: path))
  }

  private var settings: StorageConfiguration {
    configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
  }

  private func older(_ number: Int) -> TypedKey<String> { plain("old \(number)", String.self, in: database) }

  private func newer(_ number: Int) -> TypedKey<String> {
    let old = older(number)
    return plain("new \(number)", String.self, in: database, security: .encrypted(.aes256)).migrating {
      AnyStorageMigration(from: old, to: $0)
    }
  }

  private var keys: [TypedKey<String>] { (0..<Self.count).map(newer) }

  private func value(_ number: Int) -> String { "the plain text of number \(number)" }

  private func prepare(megabytes: Int) async throws {
    try await fixture.use(settings) { router in
      for number in 0..<Self.count {
        try await router.set(value(number) + ", replaced", for: older(number))
        try await router.set(value(number), for: older(number))
      }
      for number in 0..<megabytes {
        let data = Data(repeating: UInt8(number), count: 1 << 20)
        try await router.set(data, for: plain("filler \(number)", Data.self, in: database))
      }
    }
  }

  /// The number of times that the schema was changed, and thereby that the file was rewritten; of a closed store.
  private func rewrites() throws -> UInt32 {
    let header = try Data(contentsOf: URL(fileURLWithPath: path)).prefix(44)
    return header[40..<44].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The number of registered keys of whose older values nothing is left.
  private func scrubbed(_ router: StorageRouter) async -> Int {
    await router.auditReport().entries.count {
      if case .done(.migrated, _, isScrubbed: true)? = $0.migration { true } else { false }
    }
  }

  private func expectNoCopies(of text: String = "the plain text of number") throws {
    let top = URL(fileURLWithPath: fixture.path(""))
    let files = try #require(FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil))
    for case let url as URL in files {
      guard let data = try? Data(contentsOf: url) else { continue }
      #expect(data.range(of: Data(text.utf8)) == nil, "\(url.path)")
    }
  }

  // Requirement 4.9
  @Test("The keys of a catalog share one rewriting of their store", arguments: [0, 20], [true, false])
  func catalog(megabytes: Int, atRegistration: Bool) async throws {
    try await prepare(megabytes: megabytes)
    // The key ring, which creates a table, is there before the count begins.
    try await fixture.use(settings) {
      try await $0.set("1", for: plain("other", String.self, in: database, security: .encrypted(.aes256)))
    }
    let before = try rewrites()
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      try await router.registerCatalog(Catalog(allKeys: keys.map { .key($0) }), migrateImmediately: atRegistration)
      if !atRegistration {
        #expect(try await router.migrateRegisteredKeys().result().isComplete)
        #expect(await scrubbed(router) == Self.count)
        try expectNoCopies()
      }
      for number in 0..<Self.count { #expect(try await router.get(newer(number)) == value(number)) }
    }
    try expectNoCopies()
    #expect(try rewrites() == before + 1)
  }

  // Requirement 4.9
  @Test("Of keys that are migrated one after the other nothing is left once the router is closed", arguments: [0, 20])
  func single(megabytes: Int) async throws {
    try await prepare(megabytes: megabytes)
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      for number in 0..<Self.count { #expect(try await router.get(newer(number)) == value(number)) }
    }
    try expectNoCopies()
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      try await router.registerCatalog(Catalog(allKeys: keys.map { .key($0) }))
      #expect(await scrubbed(router) == Self.count)
    }
  }

  // Requirement 4.9
  @Test("Nothing is left when the first access or a registration returns, as a program may end without closing")
  func unclosed() async throws {
    try await prepare(megabytes: 0)
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      #expect(try await router.get(newer(0)) == value(0))
      try expectNoCopies(of: value(0))
      try await router.registerCatalog(Catalog(allKeys: keys.map { .key($0) }), migrateImmediately: true)
      try expectNoCopies()
    }
  }

  // Requirement 4.9
  @Test("What could not be removed is recorded, and the next process removes it")
  func resumed() async throws {
    try await prepare(megabytes: 0)
    let reader = try await SQLiteEngine.open(at: path)
    let first = try await SystemDirectories.$current.withValue(fixture.system) {
      let router = StorageRouter(configuration: settings)
      // Another program reads the log, which cannot be emptied meanwhile.
      try await reader.withSnapshot { _ in
        for number in 0..<Self.count { #expect(try await router.get(newer(number)) == value(number)) }
        try await router.registerCatalog(Catalog(allKeys: keys.map { .key($0) }))
        _ = try await router.migrateRegisteredKeys().result()
        #expect(await scrubbed(router) < Self.count)
      }
      return router
    }
    try await reader.close()
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      for number in 0..<Self.count { #expect(try await router.get(newer(number)) == value(number)) }
    }
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      try await router.registerCatalog(Catalog(allKeys: keys.map { .key($0) }))
      #expect(await scrubbed(router) == Self.count)
    }
    try await first.close()
    try expectNoCopies()
  }
}
