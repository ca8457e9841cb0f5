import Coffer
import CofferCSQLite
import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Values that other programs have stored, in a process of their own, are imported.
@Suite(.blocking, .serialized) struct ImportTests {
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

  private func removing(_ policy: Import.Options.ConflictPolicy = .refuse) -> Import.Options {
    var options = Import.Options()
    options.removesOriginals = true
    options.conflicts = policy
    return options
  }

  /// Takes the values with the encodings of their types, each in a run of its own, and then the others as text or JSON.
  /// - Returns: The numbers of values that were taken, and of originals that were removed.
  private func takeAll(
    into engine: any StorageEngine, _ options: Import.Options = Import.Options(),
    from source: (Import.Encoding) -> Import.Source
  ) async throws -> [Int] {
    var (taken, removed) = (0, 0)
    for (encoding, names) in [(Import.Encoding.jsonData, ["bytes"]), (.bytes, ["theme", "url"]), (.json, [])] {
      var options = options
      options.conflicts = .keepStored
      options.key = { names.isEmpty || names.contains($0) ? try KeyName($0) : nil }
      let report = try await engine.import(from: source(encoding), options: options).result()
      #expect(report.isComplete)
      (taken, removed) = (taken + report.imported, removed + report.removedOriginals)
    }
    return [taken, removed]
  }

  private func requireSameValues(_ store: TypedStore) async throws {
    #expect(try await store.load(String.self, for: "text") == "a \"quoted\" / text\n")
    #expect(try await store.load(Data.self, for: "bytes") == Data([0, 255, 1]))
    #expect(try await store.load(Theme.self, for: "theme") == .dark)
    #expect(try await store.load(Note.self, for: "note") == Note(title: "é", count: 2))
    #expect(try await store.load([Double].self, for: "list") == [1.5, -2])
    #expect(try await store.load(Bool.self, for: "flag") == true)
    #expect(try await store.load(URL.self, for: "url")?.path == "/a b")
  }

  // Requirement 1.67
  @Test(arguments: ["sqlite", "file"]) func adaptersOfDocument1(scheme: String) async throws {
    try write("various-files")
    let engine = try await StoreLocation("\(scheme):\(directory.path("new"))").open()
    let counts = try await takeAll(into: engine, removing()) { .files(directory: origin, encoding: $0) }
    #expect(try counts == [8, 8] && names().isEmpty)
    try await requireSameValues(TypedStore(engine: engine))
    try await engine.close()
  }

  @Test func storedObjectsOfDocument0() async throws {
    try write("various-objects")
    let engine = MemoryEngine()
    let report = try await engine.import(from: .files(directory: origin, encoding: .storedObject)).result()
    #expect(report.imported == 2 && report.isComplete)
    #expect(try await engine.entry("raw")?.value == Data([0, 255, 1]))
    #expect(try await TypedStore(engine: engine).load(Note.self, for: "note") == Note(title: "é", count: 2))
    #expect(try names() == ["note", "raw"])
  }

  @Test func linesOfJSON() async throws {
    let lines = [
      #"{"key":"text","text":"a \"b\"\n"}"#, #"{"base64":"AP8B","key":"bytes"}"#, "",
      #"{"key":"both","text":"é","base64":"w6k="}"#, "[1]", "{", #"{"key":""}"#, #"{"key":"none"}"#,
      #"{"key":"torn","base64":"%"}"#, #"{"key":"number","text":1}"#, #"{"key":"twice","text":"1"}"#,
      #"{"key":"twice","text":"1"}"#, #"{"key":"last","text":""}"#,
    ]
    try Data(lines.joined(separator: "\r\n").utf8).write(to: URL(fileURLWithPath: origin))
    let engine = MemoryEngine()
    let report = try await engine.import(from: .jsonLines(path: origin)).result()
    #expect(report.imported == 4 && report.unreadable == 7 && !report.isComplete, "\(report.entries)")
    for (key, bytes) in [
      ("text", Data("a \"b\"\n".utf8)), ("bytes", Data([0, 255, 1])), ("both", Data("é".utf8)), ("last", Data()),
    ] {
      #expect(try await engine.entry(KeyName(key))?.value == bytes, "\(key)")
    }
    try Data([0x7B, 0xFF]).write(to: URL(fileURLWithPath: origin))
    #expect(
      await codeThrown { _ = try await engine.import(from: .jsonLines(path: origin)).result() } == .decodingFailed)
    #expect(
      await codeThrown { _ = try await engine.import(from: .jsonLines(path: directory.path("none"))).result() }
        == .notFound)
  }

  // Requirement 1.67
  @Test func propertyLists() async throws {
    try write("various-entries")
    let engine = MemoryEngine()
    #expect(try await takeAll(into: engine) { .propertyList(path: origin, encoding: $0) } == [11, 0])
    let store = TypedStore(engine: engine)
    try await requireSameValues(store)
    #expect(try await store.load(String.self, for: "name") == "plain")
    #expect(try await store.load(Int.self, for: "launches") == 7)
    #expect(try await store.load(Bool.self, for: "isOn") == true)
    await #expect(throws: StorageError.self) {
      try await engine.import(from: .propertyList(path: origin), options: removing()).result()
    }
  }

  // Requirement 1.67
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
    let report = try await engine.import(
      from: .table(path: path, table: table, keyColumn: "k\"1", valueColumn: "v'")
    ).result()
    #expect(report.imported == 2 && report.unreadable == 1 && report.skipped == 1)
    #expect(try await engine.entry("one")?.value == Data([0, 255]))
    #expect(try await engine.entry("two")?.value == Data("text".utf8))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    for (key, value) in [("absent", "v'"), ("k\"1", "absent")] {
      let error = await #expect(throws: StorageError.self) {
        try await engine.import(
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
    let source = Import.Source.files(directory: origin, encoding: .json)
    let report = try await engine.import(from: source, options: removing()).result()
    #expect(report.imported == 1 && report.unreadable == 3 && report.skipped == 3 && !report.isComplete)
    #expect(try names() == ["cut", "empty", "folder", "latin", "link", "pipe"])
    try await engine.close()
  }

  @Test("JSON in an object with a transaction id is unwrapped, and what has another form is reported")
  func storedEncodings() async throws {
    for (encoding, value) in [(Import.Encoding.storedJSON, #""text""#), (.storedData, #""AAE=""#), (.storedData, "1")] {
      let inner = Data(value.utf8).base64EncodedString()
      try file("value", #"{"transactionID":"7B1C3E3E-6F5B-4E0B-9D2A-000000000001","value":"\#(inner)"}"#)
      let engine = MemoryEngine()
      let report = try await engine.import(from: .files(directory: origin, encoding: encoding)).result()
      let expected: [String: Data] = [#""text""#: Data("text".utf8), #""AAE=""#: Data([0, 1])]
      #expect(try await engine.entry("value")?.value == expected[value])
      #expect(report.unreadable == (value == "1" ? 1 : 0))
    }
  }

  @Test("A value that the store cannot hold is reported, and the others are taken")
  func obstructed() async throws {
    for name in ["userName", "photos"] { try file(name, "\"\(name)\"") }
    let new = directory.path("new")
    try FileManager.default.createDirectory(atPath: new + "/photos", withIntermediateDirectories: true)
    let engine = try await StoreLocation("file:\(new)").open()
    let source = Import.Source.files(directory: origin, encoding: .json)
    for _ in 0..<2 {
      let report = try await engine.import(from: source).result()
      #expect(report.unreadable == 1 && report.entries.contains { $0.name == "photos" }, "\(report)")
      #expect(try await engine.entry("userName")?.value == Data("userName".utf8))
    }
    try FileManager.default.removeItem(atPath: new + "/photos")
    let report = try await engine.import(from: source).result()
    #expect(report.isComplete && report.imported == 1)
    try await engine.close()
  }

  @Test("A directory that an earlier version was converting in place is refused, and nothing in it is lost")
  func begunByAnEarlierVersion() async throws {
    let contents = ["object": #"{"transactionID":"x"}"#, "text": "\"John\"", "bytes": "plain", "theme": "\"dark\""]
    var options = StoreOptions()
    options.foreignData = .ignore
    let engine = try await StoreLocation("file:\(origin)").open(options)
    for (code, number, key) in [(UInt8(12), UInt8(1), "object"), (9, 1, "text"), (9, 0, "bytes"), (11, 7, "theme")] {
      var attributes = ValueAttributes()
      attributes[ValueAttribute<UInt8>(code: code)] = number
      let data = Data(try #require(contents[key]).utf8)
      try await engine.commit(WriteBatch([.put(KeyName(key), data, attributes)]), from: StoreOrigin())
    }
    try await engine.close()
    try file(".coffer/taking-over", "")
    for access in [StoreAccess.readWrite, .readOnly] {
      var configured = StoreOptions()
      configured.access = access
      let refusing = configured
      let error = await #expect(throws: StorageError.self) {
        _ = try await StoreLocation("file:\(origin)").open(refusing)
      }
      #expect(error?.code == .foreignFormat && error?.message.contains("has not completed it") == true)
    }
    for (key, value) in contents {
      #expect(try Data(contentsOf: URL(fileURLWithPath: "\(origin)/\(key)")) == Data(value.utf8))
    }
    // An opening that fails has accepted nothing.
    let journal = "\(origin)/.coffer/journal.db"
    try FileManager.default.moveItem(atPath: journal, toPath: journal + "-kept")
    try FileManager.default.createDirectory(atPath: journal, withIntermediateDirectories: false)
    await #expect(throws: StorageError.self) { _ = try await StoreLocation("file:\(origin)").open(options) }
    #expect(FileManager.default.fileExists(atPath: "\(origin)/.coffer/taking-over"))
    try FileManager.default.removeItem(atPath: journal)
    try FileManager.default.moveItem(atPath: journal + "-kept", toPath: journal)
    try await StoreLocation("file:\(origin)").open(options).close()
    #expect(!FileManager.default.fileExists(atPath: "\(origin)/.coffer/taking-over"))
    let store = TypedStore(engine: try await StoreLocation("file:\(origin)").open())
    for (key, value) in contents {
      #expect(try await store.engine.entry(KeyName(key))?.value == Data(value.utf8))
      if key == "text" {
        // What was imported as a JSON string is still read as text; another type is decoded from its bytes.
        #expect(try await store.load(String.self, for: "text") == "John")
        try await store.save(value, for: "text")
      }
      if key == "object" {
        let error = await #expect(throws: StorageError.self) { try await store.load(String.self, for: KeyName(key)) }
        #expect(error?.code == .foreignFormat)
        try await store.save(value, for: KeyName(key))
      }
      #expect(try await store.load(String.self, for: KeyName(key)) == value)
    }
    try await store.engine.close()
  }

  @Test func aDryRunChangesNothing() async throws {
    try write("various-files")
    var options = removing()
    options.isDryRun = true
    let engine = try await StoreLocation("sqlite:\(directory.path("new.db"))").open()
    let source = Import.Source.files(directory: origin, encoding: .json)
    let report = try await engine.import(from: source, options: options).result()
    #expect(report.isDryRun && report.imported == 8 && report.removedOriginals == 0)
    #expect(try await engine.summaries().isEmpty && engine.latestRevision == StoreRevision(0))
    #expect(try names().count == 8)
    try await engine.close()
  }

  @Test func conflictsFollowThePolicy() async throws {
    let engine = try await StoreLocation("sqlite:\(directory.path("new.db"))").open()
    let store = TypedStore(engine: engine)
    for (policy, value) in [(Import.Options.ConflictPolicy.refuse, 1), (.keepStored, 1), (.replaceStored, 2)] {
      try file("number", "2")
      try await store.save(1, for: "number")
      let source = Import.Source.files(directory: origin, encoding: .json)
      let report = try await engine.import(from: source, options: removing(policy)).result()
      #expect(try await store.load(Int.self, for: "number") == value)
      #expect(report.conflicts == (policy == .refuse ? 1 : 0))
      #expect(try names() == (policy == .replaceStored ? [] : ["number"]))
    }
    try await engine.close()
  }

  @Test func namesAreMapped() async throws {
    for name in ["theme", "cache.a", "cache.b", "other"] { try file(name, "\"\(name)\"") }
    try file("same", "1")
    var options = Import.Options()
    let keys: [String: KeyName] = ["cache.a": "cache/a", "cache.b": "b", "same": "theme", "theme": "theme"]
    options.key = { keys[$0] }
    let engine = MemoryEngine()
    let report = try await engine.import(from: .files(directory: origin, encoding: .json), options: options).result()
    #expect(report.imported == 3 && report.skipped == 1 && report.conflicts == 1)
    #expect(try await engine.summaries().map(\.key.string) == ["b", "cache/a", "theme"])
  }

  @Test func theFilesOfTheStoreAreRefused() async throws {
    try file("value", "1")
    for location in ["file:\(origin)", "sqlite:\(origin)/app.db"] {
      var options = StoreOptions()
      options.foreignData = .ignore
      let engine = try await StoreLocation(location).open(options)
      let error = await #expect(throws: StorageError.self) {
        try await engine.import(from: .files(directory: origin), options: removing()).result()
      }
      #expect(error?.code == .unsupported)
      try await engine.close()
    }
    #expect(try names().contains("value"))
  }

  // Requirement 1.71
  @Test func aKilledRunIsContinued() async throws {
    var random = SeededGenerator(seed: 19)
    let runs = isProving ? 200 : 20
    let location = "sqlite:\(directory.path("new.db"))"
    let count = isProving ? 100_000 : 6_000
    try write("various-files", count)
    for _ in 0..<runs {
      let helper = try HelperProcess(["import", location, origin])
      #expect(try helper.line() == "opened")
      for _ in 0..<Int.random(in: 0...3, using: &random) { _ = try helper.line() }
      helper.kill()
      let engine = try await StoreLocation(location).open()
      let stored = try await engine.summaries().map(\.key.string)
      #expect(try Set(stored).union(names()).count == count)
      try await engine.close()
    }
    let last = try HelperProcess(["import", location, origin])
    #expect(try last.lines().last?.hasPrefix("done") == true && last.wait() == 0)
    #expect(try names().isEmpty)
    let store = TypedStore(engine: try await StoreLocation(location).open())
    for number in [0, 1, count / 2, count - 1] {
      #expect(try await store.load(String.self, for: KeyName("key-\(number)")) == "text \(number)")
    }
    #expect(try await store.engine.summaries().count == count)
    try await store.engine.close()
  }
}
