import Coffer
import CofferFileSystem
import CofferTestSupport
import Foundation
import Testing

/// The versions of values in one process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SchemaTests {
  static let kinds = ["memory", "sqlite", "file", "preferences", "encrypted"]

  private func withEngine(_ kind: String, _ body: (any StorageEngine) async throws -> Void) async throws {
    let directory = try TemporaryDirectory()
    let engine = try await Self.engine(kind, directory)
    try await body(engine)
    try await engine.close()
  }

  private static func engine(_ kind: String, _ directory: TemporaryDirectory) async throws -> any StorageEngine {
    switch kind {
    case "memory": return MemoryEngine()
    case "preferences":
      let home = directory.url.path
      let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") { $0 == "HOME" ? home : nil }
      return try await SystemDirectories.$current.withValue(system) {
        try await SlotEngine.preferences(suite: "com.example.shop")
      }
    case "encrypted":
      let file = directory.path("key")
      let isCreated = FileManager.default.createFile(
        atPath: file, contents: Data((0..<32).map { _ in UInt8.random(in: 0...255) }),
        attributes: [.posixPermissions: 0o600])
      #expect(isCreated)
      let base = try await SQLiteEngine.open(at: directory.path("store"))
      return try await EncryptedEngine.open(base, key: .file(file))
    default: return try await StoreLocation("\(kind):\(directory.path("store"))").open()
    }
  }

  @Test(arguments: kinds)
  func anOlderValueIsMigratedWhenItIsRead(kind: String) async throws {
    try await withEngine(kind) { engine in
      try await TypedStore(engine: engine).save(Style1(name: "a"), for: "style")
      let store = try Styles.version3(engine)
      let expected = Style3(title: "a", sizes: [12])
      #expect(try await store.load(Style3.self, for: "style") == expected)
      #expect(try await Styles.version3(engine).load(Style3.self, for: "style") == expected)
      let attributes = try await engine.entry("style")?.attributes ?? .none
      #expect(try SchemaMark(in: attributes)?.version == 3)
    }
  }

  @Test(arguments: kinds)
  func rollingBackRestoresEveryByteAndTheMark(kind: String) async throws {
    try await withEngine(kind) { engine in
      try await Styles.version2(engine).save(Style2(name: "b", size: 3), for: "style")
      let before = try await engine.entry("style")
      let store = try Styles.version3(engine)
      #expect(try await store.load(Style3.self, for: "style") == Style3(title: "b", sizes: [3]))
      try await store.rollback(of: "style")
      let after = try await engine.entry("style")
      #expect(after?.value == before?.value && after?.attributes == before?.attributes)
      #expect(try await Styles.version2(engine).load(Style2.self, for: "style") == Style2(name: "b", size: 3))
      #expect(await codeThrown { try await store.rollback(of: "style") } == .notFound)
    }
  }

  @Test(arguments: kinds)
  func thePreviousVersionReadsTheKeptFormAndOverwritesNothing(kind: String) async throws {
    try await withEngine(kind) { engine in
      let (old, new) = (try Styles.version2(engine), try Styles.version3(engine))
      try await old.save(Style2(name: "c", size: 4), for: "style")
      _ = try await new.load(Style3.self, for: "style")
      #expect(try await old.load(Style2.self, for: "style") == Style2(name: "c", size: 4))
      #expect(await codeThrown { try await old.save(Style2(name: "d", size: 5), for: "style") } == .newerFormat)
      #expect(
        await codeThrown { try await old.saveAll([("style" as StoreKey, Style2(name: "d", size: 5))]) } == .newerFormat)
      try await new.save(Style3(title: "e", sizes: []), for: "style")
      do {
        _ = try await old.load(Style2.self, for: "style")
        Issue.record("The previous version has read a newer value.")
      } catch let error as StorageError {
        #expect(error.code == .newerFormat)
        #expect(error.message.contains("version 3") && error.message.contains("up to 2"))
      }
      // Two versions back there is no form either.
      let first = try Styles.version1(engine)
      #expect(await codeThrown { _ = try await first.load(Style1.self, for: "style") } == .newerFormat)
      #expect(try await new.load(Style3.self, for: "style") == Style3(title: "e", sizes: []))
    }
  }

  @Test func everyWayOfReadingMigrates() async throws {
    let engine = MemoryEngine()
    let keys = try (0..<6).map { try StoreKey("styles/\($0)") }
    try await TypedStore(engine: engine).saveAll(keys.map { ($0, Style1(name: "x")) })
    let store = try Styles.version3(engine)
    let new = Style3(title: "x", sizes: [12])
    #expect(try await store.loadAll(Style3.self, keys: [keys[0], keys[1]]) == [new, new])
    #expect(try await store.loadVersioned(Style3.self, for: keys[2]).value == new)
    #expect(try await store.update(Style3.self, for: keys[3]) { $0 } == new)
    let read = try await store.transaction { transaction in
      // The closure runs again although the error is ignored.
      let value = try? await transaction.load(Style3.self, for: keys[4])
      try transaction.save("done", for: "note")
      return value
    }
    #expect(read == new)
    for await value in store.values(of: keys[5], as: Style3.self) {
      #expect(try value.get() == new)
      break
    }
    for key in keys { #expect(try SchemaMark(in: await engine.entry(key)?.attributes ?? .none)?.version == 3) }
  }

  @Test func everyWayOfWritingMarks() async throws {
    let engine = MemoryEngine()
    let store = try Styles.version3(engine)
    let new = Style3(title: "x", sizes: [])
    let keys = try (0..<6).map { try StoreKey("styles/\($0)") }
    try await store.save(new, for: keys[0])
    try await store.saveAll([(keys[1], new)])
    try await store.batch { try $0.save(new, for: keys[2]) }
    try await store.transaction { try $0.save(new, for: keys[3]) }
    try await store.update(keys[4], default: new) { $0.title = "y" }
    try await store.saveIfUnchanged(new, for: keys[5], since: nil)
    for key in keys { #expect(try SchemaMark(in: await engine.entry(key)?.attributes ?? .none)?.version == 3) }
    #expect(await codeThrown { try await store.save(1, for: keys[0]) } == .unsupported)
    #expect(await codeThrown { _ = try await store.load(Int.self, for: "style/none") } == nil)
  }

  @Test func aHundredReadersMigrateOnce() async throws {
    let engine = MemoryEngine()
    try await TypedStore(engine: engine).save(Style1(name: "a"), for: "style")
    let before = engine.latestRevision
    let stores = try (0..<4).map { _ in try Styles.version3(engine) }
    try await withThrowingTaskGroup(of: Style3?.self) { group in
      for number in 0..<100 {
        group.addTask { try await stores[number % 4].load(Style3.self, for: "style") }
      }
      for try await value in group { #expect(value == Style3(title: "a", sizes: [12])) }
    }
    #expect(engine.latestRevision.rawValue - before.rawValue == 1)
  }

  @Test(arguments: kinds)
  func aPrefixIsMigratedAndRolledBack(kind: String) async throws {
    try await withEngine(kind) { engine in
      let keys = try (0..<120).map { try StoreKey("styles/\($0)") }
      try await Styles.version2(engine).saveAll(
        keys.map { ($0, Style2(name: "n", size: 1)) }, durability: .relaxed)
      let before = try await engine.entries(keys)
      let store = try Styles.version3(engine)
      let report = try await store.migrate(prefix: "styles/")
      #expect(report.total == 120 && report.completed == 120 && report.migrated == 120)
      #expect(try await store.migrate(prefix: "styles/").total == 0)
      // A value that was saved since keeps its new content.
      let edited = Style3(title: "edited", sizes: [])
      try await store.save(edited, for: keys[7])
      #expect(try await store.rollback(prefix: "styles/") == 119)
      #expect(try await store.load(Style3.self, for: keys[7]) == edited)
      let after = try await engine.entries(keys)
      for index in keys.indices where index != 7 {
        #expect(after[index]?.value == before[index]?.value)
        #expect(after[index]?.attributes == before[index]?.attributes)
      }
    }
  }
}
