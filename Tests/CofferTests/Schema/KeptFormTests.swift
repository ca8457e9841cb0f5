import Coffer
import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferSQLite
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

  @Test func aVersionThatKeepsNoneRemovesThoseOfEarlierOnes() async throws {
    try await withMigrated("memory") { engine, _ in
      let later = try Styles.version3(engine, keep: .never)
      try await later.delete("style")
      try await later.save(Style3(title: "a", sizes: []), for: "styles/a")
      #expect(try await engine.keptForms().map(\.key) == ["styles/b.coffer-old-form"])
    }
    let engine = MemoryEngine()
    try await TypedStore(engine: engine).save(Style1(name: "s"), for: "style")
    #expect(try await Styles.version2(engine).load(Style2.self, for: "style") == Style2(name: "s", size: 12))
    #expect(try await engine.keptForms().count == 1)
    let later = try Styles.version3(engine, keep: .never)
    #expect(try await later.load(Style3.self, for: "style") == Style3(title: "s", sizes: [12]))
    #expect(try await engine.keptForms().isEmpty)
  }

  @Test func aDamagedFormHoldsNoOtherBack() async throws {
    try await withMigrated("memory") { engine, store in
      try await engine.commit(
        WriteBatch([.put("style.coffer-old-form", Data(repeating: 7, count: 40))]), from: StoreOrigin())
      let error = await #expect(throws: StorageError.self) { try await store.rollback(prefix: nil) }
      #expect(error?.code == .damaged, "\(String(describing: error))")
      let old = TypedStore(engine: engine)
      for key: StoreKey in ["styles/a", "styles/b"] {
        #expect(try await old.load(Style1.self, for: key) == Style1(name: key.string))
      }
    }
  }

  @Test func aValueWhoseOldFormHasNoRoomIsMigratedWithoutOne() async throws {
    let engine = MemoryEngine(maximumValueSize: 200)
    let name = String(repeating: "n", count: 169)
    try await TypedStore(engine: engine).save(Style1(name: name), for: "style")
    let store = try Styles.version2(engine)
    #expect(try await store.load(Style2.self, for: "style") == Style2(name: name, size: 12))
    #expect(try await engine.keptForms().isEmpty)
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

  @Test(arguments: kinds)
  func whoeverReplacesOrRemovesAValueRemovesItsForm(kind: String) async throws {
    try await withMigrated(kind) { engine, _ in
      try await TypedStore(engine: engine).delete("style")
      #expect(try await engine.keptForms().map(\.key) == ["styles/a.coffer-old-form", "styles/b.coffer-old-form"])
      try await engine.commit(WriteBatch([.delete("styles/a")]), from: StoreOrigin())
      #expect(try await engine.keptForms().map(\.key) == ["styles/b.coffer-old-form"])
      try await TypedStore(engine: engine).save(Style1(name: "new"), for: "styles/b")
      #expect(try await engine.keptForms().isEmpty)
    }
  }

  @Test func anotherHandleThatHasNeverSeenAFormRemovesIt() async throws {
    let directory = try TemporaryDirectory()
    for kind in ["sqlite", "file"] {
      let location = try StoreLocation("\(kind):\(directory.path(kind))")
      let (one, other) = (try await location.open(), try await location.open())
      let plain = TypedStore(engine: other)
      for key in ["style", "styles/a"] { try await plain.save(Style1(name: key), for: key) }
      #expect(try await Styles.version3(one).migrate().isComplete)
      try await plain.delete("style")
      try await plain.delete("styles/a")
      #expect(try await one.keptForms().isEmpty, "\(kind)")
      try await one.close()
      try await other.close()
    }
  }

  @Test func aTransactionThatDeletesAValueLeavesNoTextInTheFile() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store")
    let engine = try await SQLiteEngine.open(at: path)
    try await TypedStore(engine: engine).save(Style1(name: "confidential"), for: "style")
    #expect(try await Styles.version3(engine).migrate().isComplete)
    try await engine.transact(TransactionHeader(origin: StoreOrigin(), durability: .full)) { try $0.delete("style") }
    #expect(try await engine.keptForms().isEmpty)
    #expect(try await engine.scrub(upTo: nil))
    try await engine.close()
    for file in try FileManager.default.contentsOfDirectory(atPath: directory.url.path) {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path(file)))
      #expect(bytes.range(of: Data("confidential".utf8)) == nil, "\(file)")
    }
  }

  @Test func aFormGoesWithAFileThatAnotherProgramDeletesOrReplaces() async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.path("store")
    let engine = try await StoreLocation("file:\(folder)").open()
    for key in ["style", "styles"] { try await TypedStore(engine: engine).save(Style1(name: key), for: key) }
    var schemas = StoreSchema()
    try schemas.declare(prefix: "style", ValueSchema<Style2>("style", version: 2, steps: [Styles.first]))
    #expect(try await TypedStore(engine: engine, schema: schemas).migrate().isComplete)
    #expect(FileManager.default.fileExists(atPath: folder + "/style.coffer-old-form"))
    try FileManager.default.removeItem(atPath: folder + "/style")
    try Data("edited".utf8).write(to: URL(fileURLWithPath: folder + "/styles"))
    #expect(try await engine.entry("style") == nil)
    #expect(try await engine.entry("styles")?.value == Data("edited".utf8))
    #expect(try await engine.keptForms().isEmpty)
    // The files are removed after the commit, by whichever task has noticed the edit.
    func left() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }
    }
    let deadline = ContinuousClock.now + .seconds(60)
    while try left() != ["styles"], ContinuousClock.now < deadline { try await engine.flush() }
    #expect(try left() == ["styles"])
    try await engine.close()
  }

  @Test func aFormThatAnotherProgramPutsBackGoesWithItsValue() async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.path("store")
    for isOpen in [false, true] {
      var engine = try await StoreLocation("file:\(folder)").open()
      try await TypedStore(engine: engine).save(Style1(name: "new"), for: "style")
      if !isOpen { try await engine.close() }
      try Data("old".utf8).write(to: URL(fileURLWithPath: folder + "/style.coffer-old-form"))
      if !isOpen { engine = try await StoreLocation("file:\(folder)").open() }
      #expect(try await engine.entry("style.coffer-old-form")?.value == Data("old".utf8))
      try await TypedStore(engine: engine).delete("style")
      #expect(try await engine.entry("style.coffer-old-form") == nil)
      try await engine.close()
      // The next one begins without the record of kept forms.
      try FileManager.default.removeItem(atPath: folder)
    }
  }

  @Test func aRotationKeepsThem() async throws {
    try await withMigrated("hidden") { engine, store in
      _ = try await #require(engine.as(EncryptedEngine.self)).rotate().result()
      #expect(try await engine.keptForms().count == 3)
      #expect(try await store.rollback(prefix: nil) == 3)
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
