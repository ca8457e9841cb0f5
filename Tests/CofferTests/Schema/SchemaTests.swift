import Coffer
import CofferEncryption
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

  static func engine(_ kind: String, _ directory: TemporaryDirectory) async throws -> any StorageEngine {
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

  // Requirements 1.27, 1.68
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

  // Requirements 1.28, 1.29
  @Test(arguments: kinds)
  func aStepBackReadsANewerValueAndStoresIt(kind: String) async throws {
    try await withEngine(kind) { engine in
      try await Styles.version2(engine).save(Style2(name: "b", size: 3), for: "style")
      let before = try await engine.entry("style")
      #expect(try await Styles.version3(engine).load(Style3.self, for: "style") == Style3(title: "b", sizes: [3]))
      let store = try Styles.withdrawn(engine)
      #expect(try await store.load(Style2.self, for: "style") == Style2(name: "b", size: 3))
      let after = try await engine.entry("style")
      #expect(after?.attributes == before?.attributes)
      #expect(try await Styles.version2(engine).load(Style2.self, for: "style") == Style2(name: "b", size: 3))
      // And forward again.
      #expect(try await Styles.version3(engine).load(Style3.self, for: "style") == Style3(title: "b", sizes: [3]))
      try await store.save(Style2(name: "c", size: 1), for: "style")
      #expect(try await Styles.version2(engine).load(Style2.self, for: "style") == Style2(name: "c", size: 1))
    }
  }

  // Requirement 1.28
  @Test(arguments: kinds)
  func thePreviousVersionReadsAndOverwritesNothingNewer(kind: String) async throws {
    try await withEngine(kind) { engine in
      let (old, new) = (try Styles.version2(engine), try Styles.version3(engine))
      try await new.save(Style3(title: "e", sizes: []), for: "style")
      #expect(await codeThrown { try await old.save(Style2(name: "d", size: 5), for: "style") } == .newerFormat)
      #expect(
        await codeThrown { try await old.saveAll([("style" as KeyName, Style2(name: "d", size: 5))]) } == .newerFormat)
      do {
        _ = try await old.load(Style2.self, for: "style")
        Issue.record("The previous version has read a newer value.")
      } catch let error as StorageError {
        #expect(error.code == .newerFormat)
        #expect(error.message.contains("version 3") && error.message.contains("up to 2"))
      }
      #expect(try await new.load(Style3.self, for: "style") == Style3(title: "e", sizes: []))
    }
  }

  // Requirement 1.27
  @Test func everyWayOfReadingMigrates() async throws {
    let engine = MemoryEngine()
    let keys = try (0..<6).map { try KeyName("styles/\($0)") }
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

  // Requirement 1.28
  @Test func noWayOfReadingOrWritingTouchesANewerValue() async throws {
    let engine = MemoryEngine()
    let (new, value) = (try Styles.version3(engine), Style2(name: "n", size: 1))
    let keys = try (0..<2).map { try KeyName("styles/\($0)") }
    try await Styles.version2(engine).save(value, for: keys[1])
    try await new.save(Style3(title: "n", sizes: [1]), for: keys[0])
    let before = try await engine.entry(keys[0])
    let store = try Styles.version2(engine)
    let attempts: [() async throws -> Void] = [
      { _ = try await store.load(Style2.self, for: keys[0]) },
      { _ = try await store.loadAll(Style2.self, keys: keys) },
      { _ = try await store.loadVersioned(Style2.self, for: keys[0]) },
      { _ = try await store.load(Style2.self, for: keys[0], damagePolicy: .fail) },
      { try await store.transaction { _ = try await $0.load(Style2.self, for: keys[0]) } },
      {
        var values = store.values(of: keys[0], as: Style2.self).makeAsyncIterator()
        _ = try await values.next()?.get()
      },
      { try await store.save(value, for: keys[0]) }, { try await store.saveAll([(keys[0], value)]) },
      { try await store.saveIfUnchanged(value, for: keys[0], since: before?.revision) },
      { _ = try await store.update(Style2.self, for: keys[0]) { $0 } },
      { try await store.batch { try $0.save(value, for: keys[0]) } },
    ]
    for (number, attempt) in attempts.enumerated() {
      do {
        try await attempt()
        Issue.record("Attempt \(number) has read or overwritten a newer value.")
      } catch let error as StorageError {
        #expect(error.code == .newerFormat && error.key == keys[0], "\(number)")
        #expect(error.message.contains("version 3") && error.message.contains("up to 2"), "\(number): \(error)")
      }
    }
    #expect(try await engine.entry(keys[0]) == before)
  }

  @Test func everyWayOfReadingFollowsAStepBack() async throws {
    let engine = MemoryEngine()
    let keys = try (0..<6).map { try KeyName("styles/\($0)") }
    try await Styles.version3(engine).saveAll(keys.map { ($0, Style3(title: "x", sizes: [3])) })
    let (store, value) = (try Styles.withdrawn(engine), Style2(name: "x", size: 3))
    #expect(try await store.loadAll(Style2.self, keys: [keys[0], keys[1]]) == [value, value])
    #expect(try await store.loadVersioned(Style2.self, for: keys[2]).value == value)
    #expect(try await store.update(Style2.self, for: keys[3]) { $0 } == value)
    #expect(try await store.transaction { try await $0.load(Style2.self, for: keys[4]) } == value)
    for await read in store.values(of: keys[5], as: Style2.self) {
      #expect(try read.get() == value)
      break
    }
    for key in keys { #expect(try SchemaMark(in: await engine.entry(key)?.attributes ?? .none)?.version == 2) }
  }

  @Test func aMigrationGoesThroughAllAndReportsTheRest() async throws {
    let engine = MemoryEngine()
    try await Styles.version3(engine).save(Style3(title: "new", sizes: []), for: "styles/0")
    try await Styles.version2(engine).save(Style2(name: "b", size: 1), for: "styles/1")
    let old = TypedStore(engine: engine)
    try await old.saveAll((2..<250).map { ("styles/\($0)" as String, Style1(name: "\($0)")) })
    let picky = MigrationStep(from: 1, to: 2) { (old: Style1) -> Style2 in
      if old.name.hasSuffix("7") { throw StepError() }
      return Style2(name: old.name, size: 1)
    }
    let store = try Styles.store(engine, ValueSchema<Style2>("style", version: 2, steps: [picky]))
    let run = store.migration()
    let report = try await run.result()
    #expect((report.migrated, report.current, report.newer, report.failed) == (223, 1, 1, 25))
    #expect(!report.isComplete && report.failures.count == 26)
    #expect(report.failures.first?.key == "styles/0" && report.failures.first?.error.code == .newerFormat)
    #expect(report.failures.dropFirst().allSatisfy { $0.error.code == .migrationFailed && $0.key == $0.error.key })
    #expect(run.progress.totalUnitCount == 248 && run.progress.completedUnitCount == 248)
    var last: TypedStore.MigrationState?
    for await state in run.updates { last = state }
    #expect(last?.migrated == 223)
    #expect(try await old.load(Style1.self, for: "styles/17") == Style1(name: "17"))
  }

  // Requirement 1.26
  @Test func everyWayOfWritingMarks() async throws {
    let engine = MemoryEngine()
    let store = try Styles.version3(engine)
    let new = Style3(title: "x", sizes: [])
    let keys = try (0..<6).map { try KeyName("styles/\($0)") }
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

  // Requirements 1.27, 1.68
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

  // Requirement 1.29
  @Test(arguments: kinds)
  func aPrefixIsMigratedAndBroughtBack(kind: String) async throws {
    try await withEngine(kind) { engine in
      let keys = try (0..<120).map { try KeyName("styles/\($0)") }
      try await Styles.version2(engine).saveAll(
        keys.map { ($0, Style2(name: "n", size: 1)) }, durability: .relaxed)
      let store = try Styles.version3(engine)
      let report = try await store.migrate(prefix: "styles/")
      #expect(report.migrated == 120 && report.current == 0 && report.isComplete)
      let again = try await store.migrate(prefix: "styles/")
      #expect(again.migrated == 0 && again.current == 120 && again.isComplete)
      try await store.save(Style3(title: "edited", sizes: []), for: keys[7])
      let back = try await Styles.withdrawn(engine).migrate(prefix: "styles/")
      #expect(back.migrated == 120 && back.isComplete)
      let values = try await Styles.version2(engine).loadAll(Style2.self, keys: keys)
      for index in keys.indices {
        #expect(values[index] == (index == 7 ? Style2(name: "edited", size: 0) : Style2(name: "n", size: 1)))
      }
    }
  }
}
