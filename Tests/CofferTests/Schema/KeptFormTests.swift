import Coffer
import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferTestSupport
import Foundation
import Testing

/// Kept old forms are in no listing and travel with their values.
@Suite(.serialized, .timeLimit(.minutes(10))) struct KeptFormTests {
  static let kinds = SchemaTests.kinds + ["hidden"]

  private static func keyFile(_ directory: TemporaryDirectory) -> String {
    let file = directory.path("key")
    if !FileManager.default.fileExists(atPath: file) {
      let isCreated = FileManager.default.createFile(
        atPath: file, contents: Data((0..<32).map { _ in UInt8.random(in: 0...255) }),
        attributes: [.posixPermissions: 0o600])
      #expect(isCreated)
    }
    return file
  }

  private func withMigrated(
    _ kind: String, _ body: (any StorageEngine, TypedStore) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let engine: any StorageEngine
    if kind == "hidden" {
      var configuration = EncryptionConfiguration()
      configuration.settings.hidesNames = true
      let base = try await SQLiteEngine.open(at: directory.path("store"))
      engine = try await EncryptedEngine.open(
        base, key: .file(Self.keyFile(directory)), configuration: configuration)
    } else {
      engine = try await SchemaTests.engine(kind, directory)
    }
    let old = TypedStore(engine: engine)
    for key in ["style", "styles/a", "styles/b"] { try await old.save(Style1(name: key), for: key) }
    let store = try Styles.version3(engine)
    #expect(try await store.migrate().isComplete)
    #expect(
      try await engine.keptForms().map(\.key.string)
        == ["style", "styles/a", "styles/b"].map { $0 + ".coffer-old-form" })
    try await body(engine, store)
    try await engine.close()
  }

  @Test(arguments: kinds)
  func noListingHasThem(kind: String) async throws {
    try await withMigrated(kind) { engine, _ in
      let keys: [StoreKey] = ["style", "styles/a", "styles/b"]
      #expect(try await engine.summaries().map(\.key) == keys)
      #expect(try await engine.summaries(prefix: "styles/").map(\.key) == Array(keys.dropFirst()))
      let (pages, visited) = try await engine.withSnapshot { snapshot in
        var (pages, last): ([StoreKey], StoreKey?) = ([], nil)
        while let entry = try await snapshot.page(prefix: nil, after: last, limit: 1).first {
          pages.append(entry.key)
          last = entry.key
        }
        var visited: [StoreKey] = []
        try await snapshot.forEach(prefix: nil) { entry in visited.append(entry.key) }
        return (pages, visited)
      }
      #expect(pages == keys && visited == keys)
    }
  }

  @Test(arguments: kinds)
  func removingAndClearingTakesThemAlong(kind: String) async throws {
    try await withMigrated(kind) { engine, store in
      try await store.delete("style")
      #expect(try await engine.keptForms().map(\.key) == ["styles/a.coffer-old-form", "styles/b.coffer-old-form"])
      try await engine.commit(WriteBatch([.clear(prefix: "styles/a")]), from: StoreOrigin())
      #expect(try await engine.keptForms().map(\.key) == ["styles/b.coffer-old-form"])
      try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      #expect(try await engine.keptForms().isEmpty)
    }
  }

  @Test func theFormOfAValueThatWasRemovedElsewhereIsRemoved() async throws {
    try await withMigrated("memory") { engine, store in
      try await TypedStore(engine: engine).delete("style")
      #expect(try await engine.keptForms().count == 3)
      _ = try await store.migrate()
      #expect(try await engine.keptForms().count == 2)
    }
  }

  @Test(arguments: kinds)
  func rollingBackAllFindsThem(kind: String) async throws {
    try await withMigrated(kind) { engine, store in
      let counts = (try await store.rollback(prefix: "styles/"), try await store.rollback(prefix: nil))
      #expect(counts == (2, 1))
      let restored = try await TypedStore(engine: engine).load(Style1.self, for: "styles/a")
      #expect(restored == Style1(name: "styles/a"))
      #expect(try await engine.keptForms().isEmpty)
    }
  }

  @Test(arguments: kinds)
  func theirKeysAreReserved(kind: String) async throws {
    try await withMigrated(kind) { engine, store in
      for store in [store, TypedStore(engine: engine)] {
        #expect(await codeThrown { try await store.save("x", for: "a.coffer-old-form") } == .invalidKey)
      }
    }
  }
}
