import Coffer
import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// What the next opening of a database does with the writes that a killed process has left in a log.
@Suite(.blocking, .timeLimit(.minutes(5))) struct WriteLogTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.path("store.db") }
  private var logs: String { path + "-pending" }

  init() throws { directory = try TemporaryDirectory() }

  private func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: logs).sorted()) ?? [] }

  private func pending(_ engine: SQLiteEngine, room: Int = 8 << 20) -> TypedStore {
    TypedStore(engine: engine, writePolicy: .back(window: .seconds(3_600), maximumPendingBytes: room))
  }

  /// Leaves a log as a killed process does: the file of a living store, copied under a name of its own.
  private func leave(_ body: (TypedStore) async throws -> Void) async throws {
    let engine = try await SQLiteEngine.open(at: path)
    let store = pending(engine)
    try await body(store)
    #expect(store.pendingWrites.isLogged)
    let name = try #require(names().last)
    let content = try Data(contentsOf: URL(fileURLWithPath: "\(logs)/\(name)"))
    await store.discardPendingWrites()
    try await store.close()
    #expect(names().isEmpty)
    try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
    try content.write(to: URL(fileURLWithPath: "\(logs)/\(name)"))
  }

  @Test func theNextOpeningCommitsWhatWasSaved() async throws {
    try await leave { store in
      try await store.save("a", for: "kept")
      try await store.save("gone", for: "gone")
      try await store.delete("gone")
      try await store.save("1", for: "a", expires: Date(timeIntervalSinceNow: 3_600))
      try await store.saveAll([("b", "2"), ("c", "3")])
    }
    // A reader changes nothing.
    var reading = SQLiteEngine.Configuration()
    reading.access = .readOnly
    let reader = try await SQLiteEngine.open(at: path, configuration: reading)
    #expect(try await reader.entry("b") == nil && names().count == 1)
    try await reader.close()

    let engine = try await SQLiteEngine.open(at: path)
    let store = TypedStore(engine: engine)
    for (key, value) in [("kept", "a"), ("a", "1"), ("b", "2"), ("c", "3")] {
      #expect(try await store.load(String.self, for: KeyName(key)) == value)
    }
    #expect(try await store.load(String.self, for: "gone") == nil)
    #expect(try await engine.entry("a")?.attributes.expires != nil)
    #expect(names().isEmpty && !FileManager.default.fileExists(atPath: logs))
    try await engine.close()
  }

  @Test func whatOthersHaveWrittenSinceStays() async throws {
    let first = TypedStore(engine: try await SQLiteEngine.open(at: path))
    try await first.saveAll([("removed", "old"), ("other", "old")])
    try await first.close()
    try await leave { store in
      for key in ["removed", "replaced", "own"] { try await store.save("pending", for: KeyName(key)) }
    }
    // Opened before the log is there, so that it is not replayed yet.
    let left = "\(logs)-left"
    try FileManager.default.moveItem(atPath: logs, toPath: left)
    let other = TypedStore(engine: try await SQLiteEngine.open(at: path))
    try await other.delete("removed")
    try await other.save("newer", for: "replaced")
    try await other.close()
    try FileManager.default.moveItem(atPath: left, toPath: logs)

    let engine = try await SQLiteEngine.open(at: path)
    let store = TypedStore(engine: engine)
    #expect(try await store.load(String.self, for: "removed") == nil)
    #expect(try await store.load(String.self, for: "replaced") == "newer")
    #expect(try await store.load(String.self, for: "own") == "pending")
    try await engine.close()
  }

  @Test func whatOthersHaveWrittenStaysAlsoWithoutItsJournal() async throws {
    try await leave { store in
      for key in ["replaced", "own"] { try await store.save("pending", for: KeyName(key)) }
    }
    let left = "\(logs)-left"
    try FileManager.default.moveItem(atPath: logs, toPath: left)
    var configuration = SQLiteEngine.Configuration()
    configuration.journalRetention = 2
    let other = TypedStore(engine: try await SQLiteEngine.open(at: path, configuration: configuration))
    try await other.save("newer", for: "replaced")
    for number in 0..<600 { try await other.save(number, for: "others", durability: .relaxed) }
    try await other.close()
    try FileManager.default.moveItem(atPath: left, toPath: logs)
    let engine = try await SQLiteEngine.open(at: path)
    let store = TypedStore(engine: engine)
    #expect(try await store.load(String.self, for: "replaced") == "newer")
    #expect(try await store.load(String.self, for: "own") == "pending")
    try await engine.close()
  }

  @Test func aRestoredStoreTakesNothingOfWhatItReplaced() async throws {
    let first = TypedStore(engine: try await SQLiteEngine.open(at: path))
    try await first.save("backed up", for: "a")
    let backup = directory.path("backup")
    _ = try await (first.engine as? SQLiteEngine)?.backup(to: backup)
    try await first.close()
    for takesOver in [false, true] {
      try await leave { store in for key in ["a", "b"] { try await store.save("pending", for: KeyName(key)) } }
      let left = "\(logs)-left"
      try FileManager.default.moveItem(atPath: logs, toPath: left)
      let open = takesOver ? try await SQLiteEngine.open(at: path) : nil
      try FileManager.default.moveItem(atPath: left, toPath: logs)
      var options = RestoreOptions()
      options.takesOver = takesOver
      _ = try await SQLiteEngine.restore(from: backup, to: path, options: options)
      try await open?.close()
      let engine = try await SQLiteEngine.open(at: path)
      #expect(try await TypedStore(engine: engine).load(String.self, for: "a") == "backed up", "\(takesOver)")
      #expect(try await engine.entry("b") == nil, "\(takesOver)")
      try await engine.close()
    }
  }

  @Test func aCommitThatTheLogHasNotReleasedIsNotRepeated() async throws {
    var unreleased = Data()
    var name = ""
    try await leave { store in
      try await store.save("committed", for: "a")
      name = try #require(names().first)
      unreleased = try Data(contentsOf: URL(fileURLWithPath: "\(logs)/\(name)"))
      try await store.flush()
    }
    try unreleased.write(to: URL(fileURLWithPath: "\(logs)/\(name)"))
    let left = "\(logs)-left"
    try FileManager.default.moveItem(atPath: logs, toPath: left)
    let other = TypedStore(engine: try await SQLiteEngine.open(at: path))
    try await other.delete("a")
    try await other.close()
    for _ in 0..<2 {
      try FileManager.default.copyItem(atPath: left, toPath: logs)
      let engine = try await SQLiteEngine.open(at: path)
      #expect(try await engine.entry("a") == nil && names().isEmpty)
      try await engine.close()
    }
  }

  @Test func aLogThatWasNotCompletedIsRemoved() async throws {
    for content in [Data(), Data("COFFPEND and less".utf8), Data(count: 64), Data(count: 1 << 20)] {
      try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
      try content.write(to: URL(fileURLWithPath: "\(logs)/1f"))
      let engine = try await SQLiteEngine.open(at: path)
      #expect(!FileManager.default.fileExists(atPath: logs))
      try await engine.close()
    }
    // A process that was killed before it created the file has left the directory.
    try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
    let opened = try await SQLiteEngine.open(at: path)
    #expect(!FileManager.default.fileExists(atPath: logs))
    try await opened.close()
    // What is none of ours stays.
    try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
    for name in ["1f", "notes"] {
      try Data("a text of somebody".utf8).write(to: URL(fileURLWithPath: "\(logs)/\(name)"))
    }
    for isNew in [false, true] {
      if isNew { for suffix in ["", "-wake"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
      let engine = try await SQLiteEngine.open(at: path)
      #expect(names() == ["1f", "notes"])
      try await engine.close()
    }
    try FileManager.default.moveItem(atPath: logs, toPath: directory.path("elsewhere"))
    try Data().write(to: URL(fileURLWithPath: directory.path("elsewhere/2f")))
    try FileManager.default.createSymbolicLink(atPath: logs, withDestinationPath: directory.path("elsewhere"))
    let engine = try await SQLiteEngine.open(at: path)
    #expect(names() == ["1f", "2f", "notes"])
    try await engine.close()
  }

  @Test func aStoreThatWasPutBackTakesNothingOfALaterOne() async throws {
    let first = TypedStore(engine: try await SQLiteEngine.open(at: path))
    try await first.save("old", for: "a")
    try await first.close()
    let copy = try Data(contentsOf: URL(fileURLWithPath: path))
    try await leave { store in
      for number in 0..<5 {
        try await store.save(number, for: "a")
        try await store.flush()
      }
      try await store.save("pending", for: "a")
    }
    try copy.write(to: URL(fileURLWithPath: path))
    let wake = path + "-wake"
    try? FileManager.default.removeItem(atPath: wake)
    let engine = try await SQLiteEngine.open(at: path)
    #expect(try await TypedStore(engine: engine).load(String.self, for: "a") == "old")
    try await engine.close()
    // The next database at the same path removes what the deleted one has left.
    try await leave { try await $0.save("pending", for: "a") }
    for suffix in ["", "-wal", "-shm", "-wake"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    let fresh = try await SQLiteEngine.open(at: path)
    #expect(try await fresh.entry("a") == nil && names().isEmpty)
    try await fresh.close()
  }

  @Test func aDamagedLogYieldsItsIntactRecords() async throws {
    try await leave { store in
      for number in 0..<4 { try await store.save("value \(number)", for: KeyName("k\(number)")) }
    }
    let file = try #require(names().first)
    let whole = try Data(contentsOf: URL(fileURLWithPath: "\(logs)/\(file)"))
    try FileManager.default.removeItem(atPath: logs)
    let empty = try Data(contentsOf: URL(fileURLWithPath: path))
    let used = try #require(whole.lastIndex { $0 != 0 }) + 8
    let flips = isProving ? used * 8 : 120
    let others = [0, 7, 64, 100, used].map { whole.prefix($0) } + [whole + [0], Data(count: whole.count)]
    for number in 0..<(flips + others.count) {
      var content = number < flips ? whole : others[number - flips]
      if number < flips {
        let bit = number * used * 8 / flips
        content[bit / 8] ^= 1 << UInt8(bit % 8)
      }
      for suffix in ["-wal", "-shm", "-wake"] { try? FileManager.default.removeItem(atPath: path + suffix) }
      try empty.write(to: URL(fileURLWithPath: path))
      try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
      try content.write(to: URL(fileURLWithPath: "\(logs)/\(file)"))
      let engine = try await SQLiteEngine.open(at: path)
      var isMissing = false
      for number in 0..<4 {
        let found = try await TypedStore(engine: engine).load(String.self, for: KeyName("k\(number)"))
        #expect(found == nil || found == "value \(number)" && !isMissing, "variant \(number)")
        isMissing = found == nil
      }
      try await engine.close()
      try? FileManager.default.removeItem(atPath: logs)
    }
  }

  @Test func committedValuesLeaveNothingInTheFile() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    let (one, two) = (pending(engine, room: 100_000), pending(engine, room: 100_000))
    #expect(names().isEmpty)
    try await two.save("a plain text", for: "b")
    // More than the file holds, in records that do not divide it.
    for number in 0..<1_500 {
      try await one.save("a plain text, \(number) " + String(repeating: "x", count: number % 900), for: "a")
      if number % 700 == 0 { try await one.flush() }
    }
    await two.discardPendingWrites()
    try await one.flush()
    let files = names()
    #expect(files.count == 2)
    for file in files {
      let content = try Data(contentsOf: URL(fileURLWithPath: "\(logs)/\(file)"))
      #expect(content.dropFirst(64).allSatisfy { $0 == 0 })
      #expect(content.count > 100_000)
    }
    #expect(try await TypedStore(engine: engine).load(String.self, for: "a")?.hasPrefix("a plain text, 1499") == true)
    try await one.close()
    try await two.close()
    #expect(!FileManager.default.fileExists(atPath: logs))
  }

  @Test func aValueThatNoLogHoldsIsCommittedAtOnce() async throws {
    let engine = try await SQLiteEngine.open(at: path)
    let store = pending(engine, room: 1 << 20)
    let large = Data(repeating: 7, count: 2 << 20)
    try await store.save("small", for: "small")
    try await store.save(large, for: "large")
    #expect(try await engine.entry("large")?.value == large && store.pendingWrites.count == 0)
    try await store.close()
  }
}
