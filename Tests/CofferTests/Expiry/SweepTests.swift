import Coffer
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct SweepTests {
  private let clock = SettableClock()
  private let origin = StoreOrigin()

  // Requirement 5.1
  @Test(.timeLimit(.minutes(2)), arguments: TestedStore.with(.expiring))
  func expiredValuesAreSweptByALaterCommit(_ kind: TestedStore) async throws {
    let directory = try TemporaryDirectory()
    let engine = try await open(kind, directory)
    let (token, other) = (KeyName("token"), KeyName("other"))
    try await put(token, 60, in: engine)
    clock.advance(by: 60 + 3_599)
    let changes = engine.changes(since: nil)
    try await engine.commit(WriteBatch([.put(other, Data("1".utf8))]), from: origin)
    clock.advance(by: -3_600)
    #expect(try await engine.entry(token)?.value == Data("v".utf8), "a clock that was set back shows it again")
    clock.advance(by: 3_600 + 120)
    try await engine.commit(WriteBatch([.put(other, Data("2".utf8))]), from: origin)
    let swept = await changes.first {
      if case .commit(let commit) = $0 { commit.changed.contains(token) } else { false }
    }
    guard case .commit(let sweep)? = swept else { throw Missing() }
    #expect(sweep.changed.keys == [token] && sweep.origin != origin && sweep.transaction != nil)
    clock.advance(by: -7_200)
    #expect(try await engine.entry(token) == nil, "a swept value is gone")
    #expect(try await engine.entry(other)?.value == Data("2".utf8))
    try await engine.close()
  }

  @Test(.timeLimit(.minutes(2))) func transactionsOfADatabaseSweep() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await open(.sqlite, directory)
    guard let engine = engine as? SQLiteEngine else { throw Missing() }
    let (token, header) = (KeyName("token"), TransactionHeader(origin: origin, durability: .relaxed))
    try await engine.transact(header) { [clock] in
      try $0.put(token, Data("v".utf8), ValueAttributes(expires: clock.now + 60))
    }
    clock.advance(by: 60 + 3_600)
    let changes = engine.changes(since: nil)
    try await engine.transact(header) { try $0.put("other", Data()) }
    let swept = await changes.first {
      if case .commit(let commit) = $0 { commit.changed.contains(token) } else { false }
    }
    #expect(swept != nil)
    try await engine.close()
  }

  // Requirement 5.1
  @Test(.timeLimit(.minutes(2)), arguments: TestedStore.with(.plain, .expiring))
  func aSweepRemovesNoNewerValue(_ kind: TestedStore) async throws {
    let directory = try TemporaryDirectory()
    let engine = try await open(kind, directory)
    let keys = try (0..<300).map { try KeyName("k/\($0)") }
    var attributes = ValueAttributes()
    attributes.expires = clock.now + 60
    try await engine.commit(WriteBatch(keys.map { .put($0, Data("v".utf8), attributes) }), from: origin)
    try await engine.commit(WriteBatch([.put(keys[0], Data("new".utf8)), .delete(keys[1])]), from: origin)
    try await put(keys[2], 1_000_000, in: engine)
    clock.advance(by: 4_000)
    let changes = engine.changes(since: nil)
    var swept: Set<KeyName> = []
    let trigger = KeyName("trigger")
    try await engine.commit(WriteBatch([.put(trigger, Data())]), from: origin)
    for await change in changes {
      guard case .commit(let commit) = change, commit.origin != origin else { continue }
      swept.formUnion(commit.changed.keys)
      #expect(commit.changed.keys.count <= 256, "a sweep is bounded")
      if swept.count == 297 { break }
      try await engine.commit(WriteBatch([.put(trigger, Data())]), from: origin)
    }
    #expect(swept == Set(keys[3...]))
    #expect(try await engine.entry(keys[0])?.value == Data("new".utf8))
    #expect(try await engine.contains(keys[2]))
    let left = try await engine.summaries().map(\.key)
    #expect(left == [keys[0], keys[2], trigger].sorted())
    try await engine.close()
  }

  @Test func aBackupKeepsTheExpiry() async throws {
    let directory = try TemporaryDirectory()
    for (number, kind) in TestedStore.with(.local, .plain, .expiring).enumerated() {
      let engine = try await open(kind, directory)
      let key = KeyName("token")
      try await put(key, 60, in: engine)
      let backup = directory.path("backup\(number).db")
      if let files = engine.as(SlotEngine.self) {
        try await files.backup(to: backup)
        try await files.restore(from: backup)
      } else {
        try await engine.opened(as: SQLiteEngine.self).backup(to: backup)
      }
      #expect(try await engine.entry(key)?.attributes.expires == clock.now + 60)
      try await engine.close()
      var configuration = SQLiteEngine.Configuration()
      configuration.clock = clock.storeClock
      configuration.access = .readOnly
      let copy = try await SQLiteEngine.open(at: backup, configuration: configuration)
      #expect(try await copy.entry(key)?.attributes.expires == clock.now + 60)
      clock.advance(by: 60)
      #expect(try await copy.entry(key) == nil, "a read-only store judges, too")
      #expect(try await copy.summaries().isEmpty)
      try await copy.close()
    }
  }

  private func put(_ key: KeyName, _ seconds: TimeInterval, in engine: any StorageEngine) async throws {
    var attributes = ValueAttributes()
    attributes.expires = clock.now + seconds
    try await engine.commit(WriteBatch([.put(key, Data("v".utf8), attributes)]), from: origin)
  }

  private func open(_ kind: TestedStore, _ directory: TemporaryDirectory) async throws -> any StorageEngine {
    try await kind.open(in: directory.url, StoreOptions(clock: clock.storeClock))
  }

  private struct Missing: Error {}
}
