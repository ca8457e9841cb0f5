import Coffer
import CofferCSQLite
import CofferProcessTesting
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Values that other programs have stored, in a process of their own, are taken over.
@Suite(.blocking, .serialized) struct TakeOverTests {
  let directory: TemporaryDirectory
  var origin: String { directory.path("old") }

  init() throws { directory = try TemporaryDirectory() }

  private func write(_ kind: String, _ count: Int? = nil) throws {
    let program = try HelperProcess([kind, origin] + (count.map { ["\($0)"] } ?? []), executable: "LegacyProgram")
    try #require(program.wait() == 0)
  }

  private func file(_ name: String, _ text: String) throws {
    try FileManager.default.createDirectory(atPath: origin, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(origin)/\(name)"))
  }

  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: origin).sorted() }

  private func removing(_ policy: TakeOverOptions.ConflictPolicy = .refuse) -> TakeOverOptions {
    var options = TakeOverOptions()
    options.removesOriginals = true
    options.conflicts = policy
    return options
  }

  private func requireSameValues(_ store: TypedStore) async throws {
    #expect(try await store.load(String.self, for: "text") == "a \"quoted\" / text\n")
    #expect(try await store.load(Data.self, for: "bytes") == Data([0, 255, 1]))
    #expect(try await store.load(Theme.self, for: "theme") == .dark)
    #expect(try await store.load(String.self, for: "theme") == "dark")
    #expect(try await store.load(Note.self, for: "note") == Note(title: "é", count: 2))
    #expect(try await store.load([Double].self, for: "list") == [1.5, -2])
    #expect(try await store.load(Bool.self, for: "flag") == true)
    #expect(try await store.load(URL.self, for: "url")?.path == "/a b")
  }

  @Test(arguments: ["sqlite", "file"]) func adaptersOfDocument1(scheme: String) async throws {
    try write("various-files")
    let engine = try await StoreLocation("\(scheme):\(directory.path("new"))").open()
    let report = try await engine.takeOver(from: .files(directory: origin, encoding: .json), options: removing())
      .result()
    #expect(report.taken == 8 && report.isComplete && report.removedOriginals == 8)
    #expect(try names().isEmpty)
    let store = TypedStore(engine: engine)
    try await requireSameValues(store)
    // A value that is saved again has Coffer's own form.
    try await store.save("dark", for: "theme")
    #expect(try await engine.entry("theme")?.value == Data("dark".utf8))
    #expect(try await store.load(String.self, for: "theme") == "dark")
    try await engine.close()
  }

  @Test func storedObjectsOfDocument0() async throws {
    try write("various-objects")
    let engine = MemoryEngine()
    let report = try await engine.takeOver(from: .files(directory: origin, encoding: .storedObject)).result()
    #expect(report.taken == 2 && report.isComplete)
    #expect(try await engine.entry("raw")?.value == Data([0, 255, 1]))
    #expect(try await TypedStore(engine: engine).load(Note.self, for: "note") == Note(title: "é", count: 2))
    #expect(try names() == ["note", "raw"])
  }

  @Test func propertyLists() async throws {
    try write("various-entries")
    let engine = MemoryEngine()
    let report = try await engine.takeOver(from: .propertyList(path: origin, encoding: .json)).result()
    #expect(report.taken == 11 && report.isComplete)
    let store = TypedStore(engine: engine)
    try await requireSameValues(store)
    #expect(try await store.load(String.self, for: "name") == "plain")
    #expect(try await store.load(Int.self, for: "launches") == 7)
    #expect(try await store.load(Bool.self, for: "isOn") == true)
    await #expect(throws: StorageError.self) {
      try await engine.takeOver(from: .propertyList(path: origin), options: removing()).result()
    }
  }

  @Test func tablesWithHostileNames() async throws {
    let path = directory.path("old.db")
    var database: OpaquePointer?
    try #require(sqlite3_open(path, &database) == SQLITE_OK)
    let sql = """
      CREATE TABLE "a""; DROP TABLE x; --" ("k""1" TEXT PRIMARY KEY, "v'" BLOB); CREATE TABLE x(y);
      INSERT INTO "a""; DROP TABLE x; --" VALUES ('one', x'00ff'), ('two', 'text'), ('three', NULL), (x'80', 1);
      """
    try #require(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(database)
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    let engine = MemoryEngine()
    let table = "a\"; DROP TABLE x; --"
    let report = try await engine.takeOver(
      from: .table(path: path, table: table, keyColumn: "k\"1", valueColumn: "v'")
    ).result()
    #expect(report.taken == 2 && report.unreadable == 1 && report.skipped == 1)
    #expect(try await engine.entry("one")?.value == Data([0, 255]))
    #expect(try await engine.entry("two")?.value == Data("text".utf8))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    for (key, value) in [("absent", "v'"), ("k\"1", "absent")] {
      let error = await #expect(throws: StorageError.self) {
        try await engine.takeOver(
          from: .table(path: path, table: table, keyColumn: key, valueColumn: value)
        ).result()
      }
      #expect(error?.code == .notFound)
    }
  }

  @Test func whatIsNoValueStays() async throws {
    try file("good", "[1]")
    try file("cut", "{\"a\": 1")
    try file("empty", "")
    try Data([0x22, 0xFF, 0x22]).write(to: URL(fileURLWithPath: "\(origin)/latin"))
    try FileManager.default.createDirectory(atPath: "\(origin)/folder", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: "\(origin)/link", withDestinationPath: "good")
    try #require(mkfifo("\(origin)/pipe", 0o600) == 0)
    let engine = try await StoreLocation("sqlite:\(directory.path("new.db"))").open()
    let source = LegacySource.files(directory: origin, encoding: .json)
    let report = try await engine.takeOver(from: source, options: removing()).result()
    #expect(report.taken == 1 && report.unreadable == 3 && report.skipped == 3 && !report.isComplete)
    #expect(try names() == ["cut", "empty", "folder", "latin", "link", "pipe"])
    try await engine.close()
  }

  @Test func aDryRunChangesNothing() async throws {
    try write("various-files")
    var options = removing()
    options.isDryRun = true
    let engine = try await StoreLocation("sqlite:\(directory.path("new.db"))").open()
    let source = LegacySource.files(directory: origin, encoding: .json)
    let report = try await engine.takeOver(from: source, options: options).result()
    #expect(report.isDryRun && report.taken == 8 && report.removedOriginals == 0)
    #expect(try await engine.summaries().isEmpty && engine.latestRevision == StoreRevision(0))
    #expect(try names().count == 8)
    try await engine.close()
  }

  @Test func conflictsFollowThePolicy() async throws {
    let engine = try await StoreLocation("sqlite:\(directory.path("new.db"))").open()
    let store = TypedStore(engine: engine)
    for (policy, value) in [(TakeOverOptions.ConflictPolicy.refuse, 1), (.keepStored, 1), (.replaceStored, 2)] {
      try file("number", "2")
      try await store.save(1, for: "number")
      let source = LegacySource.files(directory: origin, encoding: .json)
      let report = try await engine.takeOver(from: source, options: removing(policy)).result()
      #expect(try await store.load(Int.self, for: "number") == value)
      #expect(report.conflicts == (policy == .refuse ? 1 : 0))
      #expect(try names() == (policy == .replaceStored ? [] : ["number"]))
    }
    try await engine.close()
  }

  @Test func namesAreMapped() async throws {
    for name in ["theme", "cache.a", "cache.b", "other"] { try file(name, "\"\(name)\"") }
    try file("same", "1")
    var options = TakeOverOptions()
    options.mapping = try KeyMapping(
      [("cache.*", "cache/*"), ("cache.b", "b"), ("same", "theme"), ("theme", "theme")], takesOthers: false)
    let engine = MemoryEngine()
    let report = try await engine.takeOver(from: .files(directory: origin, encoding: .json), options: options).result()
    #expect(report.taken == 3 && report.skipped == 1 && report.conflicts == 1)
    #expect(try await engine.summaries().map(\.key.string) == ["b", "cache/a", "theme"])
    for (old, new) in [("a", "*"), ("**", "x"), ("", "x"), ("x", "")] {
      #expect(throws: StorageError.self) { try KeyMapping([(old, new)]) }
    }
  }

  @Test func theFilesOfTheStoreAreRefused() async throws {
    try file("value", "1")
    for location in ["file:\(origin)", "sqlite:\(origin)/app.db"] {
      var options = StoreOptions()
      options.foreignData = .ignore
      let engine = try await StoreLocation(location).open(options)
      let error = await #expect(throws: StorageError.self) {
        try await engine.takeOver(from: .files(directory: origin), options: removing()).result()
      }
      #expect(error?.code == .unsupported)
      try await engine.close()
    }
    #expect(try names().contains("value"))
  }

  @Test func aKilledRunIsContinued() async throws {
    var random = SeededGenerator(seed: 19)
    let runs = isProving ? 200 : 20
    let location = "sqlite:\(directory.path("new.db"))"
    let count = isProving ? 100_000 : 6_000
    try write("various-files", count)
    for _ in 0..<runs {
      let helper = try HelperProcess(["take-over", location, origin])
      #expect(try helper.line() == "opened")
      for _ in 0..<Int.random(in: 0...3, using: &random) { _ = try helper.line() }
      helper.kill()
      let engine = try await StoreLocation(location).open()
      let stored = try await engine.summaries().map(\.key.string)
      #expect(try Set(stored).union(names()).count == count)
      try await engine.close()
    }
    let last = try HelperProcess(["take-over", location, origin])
    #expect(try last.lines().last?.hasPrefix("done") == true && last.wait() == 0)
    #expect(try names().isEmpty)
    let store = TypedStore(engine: try await StoreLocation(location).open())
    for number in [0, 1, count / 2, count - 1] {
      #expect(try await store.load(String.self, for: StoreKey("key-\(number)")) == "text \(number)")
    }
    #expect(try await store.engine.summaries().count == count)
    try await store.engine.close()
  }
}
