// The Swift code of the article "Values of earlier versions", compiled and run: ReadmeTests compares them line by line.
import CofferRouter
import Foundation
import Testing

struct Wish1: Codable, Sendable {
  var product: String
  var below: String
}

struct Wish2: Codable, Sendable {
  var product: String
  var cents: Int
}

struct Wish: Codable, Equatable, Sendable {
  var product: String
  var cents: Int
  var currency: String
}

struct UnreadablePrice: Error {}

extension StorageKeys {
  static let oldToken = TypedKey<String>(
    "token", in: .userDefaults(), owner: "Account", about: "The session, in versions before 2.")
  static let session = TypedKey<String>(
    secret: "session", in: .keychain(), owner: "Account", about: "The session at the shop."
  ).migrating { key in
    AnyStorageMigration(from: StorageKeys.oldToken, to: key)
  }
}

struct AccountCatalog: StorageKeyCatalog {
  let allKeys: [AnyStorageKey] = [.key(StorageKeys.session)]
}

@Suite("The examples on migrations run")
struct MigratingExamples {
  @Test func versions() async throws {
    let engine = MemoryEngine()
    let before = TypedStore(engine: engine)
    try await before.save(Wish1(product: "mat", below: "$40.50"), for: "wishes/1")
    try await before.save(Wish1(product: "cup", below: "$8"), for: "wishes/2")

    let wishes = try ValueSchema<Wish>(
      "wish", version: 3,
      steps: [
        MigrationStep(from: 1, to: 2) { (old: Wish1) in
          guard let amount = Double(old.below.dropFirst()) else { throw UnreadablePrice() }
          return Wish2(product: old.product, cents: Int((amount * 100).rounded()))
        },
        MigrationStep(from: 2, to: 3) { (old: Wish2) in
          Wish(product: old.product, cents: old.cents, currency: "USD")
        },
      ],
      validate: { wish in if wish.cents < 0 { throw UnreadablePrice() } })
    var schema = StoreSchema()
    try schema.declare(prefix: "wishes/", wishes)
    let store = try TypedStore(engine: engine, schema: schema)

    let wish = try await store.load(Wish.self, for: "wishes/1")  // migrated by this read
    let report = try await store.migrate(prefix: "wishes/")  // and now all others

    #expect(wish == Wish(product: "mat", cents: 4_050, currency: "USD") && report.migrated == 1)
    let back = try ValueSchema<Wish2>(
      "wish", version: 2,
      steps: [
        MigrationStep(from: 3, to: 2) { (new: Wish) in Wish2(product: new.product, cents: new.cents) }
      ])
    var withdrawn = StoreSchema()
    try withdrawn.declare(prefix: "wishes/", back)
    let older = try await TypedStore(engine: engine, schema: withdrawn).load(Wish2.self, for: "wishes/1")
    #expect(older?.cents == 4_050)
    _ = try await store.migrate()
    try await versionsOfAKey(wishes)
  }

  private func versionsOfAKey(_ wishes: ValueSchema<Wish>) async throws {
    var configuration = StorageConfiguration()
    configuration.engines = ["app": MemoryEngine()]
    configuration.unregisteredKeys = .allow
    let before = TypedKey<Wish1>("wish", in: .engine("app"), owner: "Wishes", about: "The present wish.")
    try await StorageRouter(configuration: configuration).set(Wish1(product: "mat", below: "$40.50"), for: before)

    let router = StorageRouter(configuration: configuration)
    let present = TypedKey<Wish>("wish", in: .engine("app"), owner: "Wishes", about: "The present wish.")
      .versioned(by: wishes)
    let now = try await router.get(present)  // migrated by this read
    #expect(now == Wish(product: "mat", cents: 4_050, currency: "USD"))
  }

  @Test func takingOver() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-moving-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try Data("\"John\"".utf8).write(to: folder.appendingPathComponent("userName"))
    let (path, engine) = (folder.path, MemoryEngine())

    var options = Import.Options()
    options.isDryRun = true
    let source = Import.Source.files(directory: path, encoding: .json)
    let planned = try await engine.import(from: source, options: options).result()
    options.isDryRun = false
    let report = try await engine.import(from: source, options: options).result()

    #expect(planned.imported == 1 && report.imported == 1)
    #expect(try await TypedStore(engine: engine).load(String.self, for: "userName") == "John")
  }

  @Test func olderKeys() async throws {
    var configuration = StorageConfiguration()
    configuration.isInMemory = true
    let router = StorageRouter(configuration: configuration)
    try await router.set("t0ken", for: StorageKeys.oldToken)

    try await router.registerCatalog(AccountCatalog())
    let token = try await router.get(StorageKeys.session)  // moved by this read

    #expect(token == "t0ken")
    guard case .done(.migrated, _, _)? = await router.auditReport().entries.first?.migration else {
      Issue.record("the audit does not show the migration")
      return
    }
  }
}
