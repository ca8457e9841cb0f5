import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Stores that are open for reading only, because they cannot be written or by configuration.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct ReadOnlyTests {
  private let directory: TemporaryDirectory
  private let origin = StoreOrigin()

  init() throws { directory = try TemporaryDirectory() }

  private func commit(_ engine: SQLiteEngine, _ keys: ClosedRange<Int>, _ value: String) async throws {
    let puts = try keys.map { WriteBatch.Operation.put(try KeyName("key\($0)"), Data(value.utf8)) }
    try await engine.commit(WriteBatch(puts), from: origin)
  }

  /// Creates a store with three commits, and closes it.
  private func make(_ path: String) async throws {
    let engine = try await SQLiteEngine.open(at: path)
    for index in 1...3 { try await commit(engine, index...index, "value \(index)") }
    try await engine.close()
  }

  private func configured(_ access: StoreAccess) -> SQLiteEngine.Configuration {
    var configuration = SQLiteEngine.Configuration()
    configuration.access = access
    return configuration
  }

  /// Checks every way of reading the store, and that a commit throws `readOnly`.
  private func check(_ engine: SQLiteEngine, values: [String], revision: UInt64) async throws {
    #expect(engine.isReadOnly)
    for (index, value) in values.enumerated() {
      #expect(try await engine.entry(KeyName("key\(index + 1)"))?.value == Data(value.utf8))
    }
    #expect(try await engine.entry(KeyName("none")) == nil)
    #expect(engine.latestRevision == StoreRevision(revision))
    let listed = try await engine.withSnapshot { snapshot in
      #expect(snapshot.revision == StoreRevision(revision))
      return try await snapshot.page(prefix: nil, after: nil, limit: 1_000)
    }
    #expect(listed.map { String(decoding: $0.value, as: UTF8.self) } == values)
    var seen: [StoreRevision] = []
    for await change in engine.changes(since: .zero) {
      if case .commit(let commit) = change { seen.append(commit.revision) }
      if seen.count == Int(revision) { break }
    }
    #expect(seen == (1...revision).map { StoreRevision($0) })
    let error = await #expect(throws: StorageError.self) { try await commit(engine, 1...1, "new") }
    #expect(error?.code == .readOnly && error?.message.contains("open for reading only") == true)
    #expect(engine.capabilities.contains([.snapshots, .listing, .persistence, .replay, .foreignWriters, .revisions]))
    #expect(!engine.capabilities.contains(.atomicBatches) && !engine.capabilities.contains(.powerLossSafety))
    try await engine.flush()
  }

  private func skip(_ what: String) { print("Not checked: \(what), which this user may not mount.") }

  // Requirement 5.6
  @Test("A store on a read-only file system can be read, and no files are created there")
  func readOnlyFileSystem() async throws {
    guard let disk = try SmallDisk(at: directory.path("disk"), size: "8m") else { return skip("a file system") }
    let path = disk.path + "/store.db"
    try await make(path)
    try disk.makeReadOnly()
    let before = try FileManager.default.contentsOfDirectory(atPath: disk.path).sorted()
    for access in [StoreAccess.readWriteOrReadOnly, .readOnly] {
      let reading = try await SQLiteEngine.open(at: path, configuration: configured(access))
      try await check(reading, values: ["value 1", "value 2", "value 3"], revision: 3)
      try await reading.close()
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).sorted() == before)
    await #expect(throws: StorageError.self) {
      _ = try await SQLiteEngine.open(at: path, configuration: configured(.readWrite))
    }
    let missing = await #expect(throws: StorageError.self) {
      _ = try await SQLiteEngine.open(at: disk.path + "/none.db")
    }
    #expect(missing?.code == .permissionDenied, "\(String(describing: missing))")
  }

  /// After a killed writer, or in a copy of an open store, the log has commits, and its index cannot be created.
  @Test("A log left on a read-only file system is read", arguments: ["", "-shm", "-wake"])
  func leftLog(with suffix: String) async throws {
    guard let disk = try SmallDisk(at: directory.path("disk"), size: "16m") else { return skip("a file system") }
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    for index in 1...3 { try await commit(engine, index...index, "value \(index)") }
    for end in Set(["", "-wal", suffix]) {
      try FileManager.default.copyItem(atPath: directory.path("store.db" + end), toPath: disk.path + "/store.db" + end)
    }
    try await engine.close()
    try disk.makeReadOnly()
    let reading = try await SQLiteEngine.open(at: disk.path + "/store.db")
    try await check(reading, values: ["value 1", "value 2", "value 3"], revision: 3)
    try await reading.close()
  }

  /// The index of the log belongs to no living process, and SQLite would rebuild it.
  // Requirement 5.6
  @Test(
    "A log that a killed writer has left in a writable directory is read, and no file changes",
    arguments: [
      ["-wal", "-shm", "-wake"], ["-wal", "-shm"], ["-wal"], ["-shm"], [],
    ])
  func leftLogOnPurpose(with suffixes: [String]) async throws {
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    for index in 1...3 { try await commit(engine, index...index, "value \(index)") }
    if !suffixes.contains("-wal") { try await engine.close() }
    let copy = try TemporaryDirectory()
    for end in [""] + suffixes where access(directory.path("store.db" + end), F_OK) == 0 {
      try FileManager.default.copyItem(atPath: directory.path("store.db" + end), toPath: copy.path("store.db" + end))
    }
    if suffixes == ["-shm"] {
      try Data(repeating: 0, count: 32_768).write(to: copy.url.appendingPathComponent("store.db-shm"))
    }
    if suffixes.contains("-wal") { try await engine.close() }
    let before = try DirectoryContents(of: copy.url)
    let reading = try await SQLiteEngine.open(at: copy.path("store.db"), configuration: configured(.readOnly))
    try await check(reading, values: ["value 1", "value 2", "value 3"], revision: 3)
    await #expect(throws: StorageError.self) { try await reading.acceptLoss() }
    await #expect(throws: StorageError.self) { try await reading.upgrade() }
    #expect(try await reading.verify().isWhole)
    try await reading.close()
    #expect(try DirectoryContents(of: copy.url).changes(since: before).isEmpty)
  }

  // Requirement 5.6
  @Test("While another process commits, each snapshot is one state, and every commit is delivered")
  func livingWriter() async throws {
    let path = directory.path("store.db")
    try await make(path)
    let writer = try HelperProcess(["hammer", path, "relaxed", "w", "2000", "10"])
    #expect(try writer.line() == "ready")
    let reading = try await SQLiteEngine.open(at: path, configuration: configured(.readOnly))
    var next = reading.latestRevision.rawValue + 1
    let changes = reading.changes(since: nil)
    writer.tell("go")
    var snapshots = 0
    while reading.latestRevision.rawValue < 2_003 {
      let (revision, newest) = try await reading.withSnapshot { snapshot in
        let page = try await snapshot.page(prefix: KeyName("w/"), after: nil, limit: 100)
        return (snapshot.revision, page.map(\.revision).max() ?? snapshot.revision)
      }
      #expect(revision == newest)
      snapshots += 1
    }
    for await change in changes {
      guard case .commit(let commit) = change else { throw TestFailure("\(change)") }
      #expect(commit.revision.rawValue == next)
      next += 1
      if next > 2_003 { break }
    }
    #expect(snapshots > 1)
    writer.wait()
    #expect(try await reading.entry(KeyName("key1"))?.value == Data("value 1".utf8))
    try await reading.close()
  }

  @Test("A read-only mount sees commits of other processes at once, and delivers them")
  func foreignWriter() async throws {
    try FileManager.default.createDirectory(atPath: directory.path("source"), withIntermediateDirectories: true)
    var writer = try await SQLiteEngine.open(at: directory.path("source/store.db"))
    try await commit(writer, 1...1, "value 1")
    guard let mount = try ReadOnlyMount(of: directory.path("source"), at: directory.path("mount")) else {
      return skip("a directory twice")
    }
    let reading = try await SQLiteEngine.open(at: mount.path + "/store.db")
    #expect(reading.isReadOnly)
    var heard = reading.changes(since: nil).makeAsyncIterator()
    for round in 2...6 {
      // Both with the writer's log and without it.
      if round % 2 == 0 {
        try await writer.close()
        #expect(try await reading.entry(KeyName("key1"))?.value == Data("value \(round - 1)".utf8))
        writer = try await SQLiteEngine.open(at: directory.path("source/store.db"))
      }
      try await commit(writer, 1...1, "value \(round)")
      #expect(try await reading.entry(KeyName("key1"))?.value == Data("value \(round)".utf8))
      #expect(reading.latestRevision == StoreRevision(UInt64(round)))
      guard case .commit(let commit)? = await heard.next() else { throw TestFailure("no commit was delivered") }
      #expect(commit.revision == StoreRevision(UInt64(round)))
    }
    try await writer.close()
    try await reading.close()
  }

  @Test("Opening for reading only creates no files, and reads the existing ones")
  func readOnlyAccess() async throws {
    let path = directory.path("store.db")
    let none = await #expect(throws: StorageError.self) {
      _ = try await SQLiteEngine.open(at: path, configuration: configured(.readOnly))
    }
    #expect(none?.code == .notFound)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).isEmpty)
    let engine = try await SQLiteEngine.open(at: path)
    try await commit(engine, 1...1, "value")
    try await engine.close()
    for name in ["store.db-wal", "store.db-shm", "store.db-wake", "store.db-lock"] {
      try? FileManager.default.removeItem(atPath: directory.path(name))
    }
    let reading = try await SQLiteEngine.open(at: path, configuration: configured(.readOnly))
    try await check(reading, values: ["value"], revision: 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["store.db"])
    // Another file at the same path is another store.
    try FileManager.default.moveItem(atPath: path, toPath: directory.path("old.db"))
    let other = try await SQLiteEngine.open(at: path)
    try await commit(other, 1...1, "other")
    let replaced = await #expect(throws: StorageError.self) { try await reading.entry(KeyName("key1")) }
    #expect(replaced?.code == .closed, "\(String(describing: replaced))")
    try await other.close()
    try await reading.close()
  }

  @Test("A loss that the wake-up file proves is also reported by a store open for reading only")
  func loss() async throws {
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await commit(engine, 1...1, "value")
    try FileManager.default.copyItem(atPath: path + "-wal", toPath: directory.path("old-wal"))
    try FileManager.default.copyItem(atPath: path, toPath: directory.path("old"))
    try await commit(engine, 1...1, "newer")
    let copy = try TemporaryDirectory()
    try FileManager.default.copyItem(atPath: directory.path("old"), toPath: copy.path("store.db"))
    try FileManager.default.copyItem(atPath: directory.path("old-wal"), toPath: copy.path("store.db-wal"))
    try FileManager.default.copyItem(atPath: path + "-wake", toPath: copy.path("store.db-wake"))
    try await engine.close()
    let reading = try await SQLiteEngine.open(at: copy.path("store.db"), configuration: configured(.readOnly))
    #expect(try await reading.loss()?.upTo == StoreRevision(2))
    for await state in reading.availability() {
      guard case .recovered = state else { throw TestFailure("\(state)") }
      break
    }
    try await reading.close()
  }

  @Test("A database that has lost its tables is damaged, not a new store")
  func noTables() async throws {
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await commit(engine, 1...1, "value")
    try await engine.close()
    try FileManager.default.removeItem(atPath: path)
    try sql(path, "PRAGMA user_version = 1")
    for access in [StoreAccess.readOnly, .readWrite] {
      let error = await #expect(throws: StorageError.self) {
        _ = try await SQLiteEngine.open(at: path, configuration: configured(access))
      }
      #expect(error?.code == .damaged, "\(String(describing: error))")
    }
  }
}
