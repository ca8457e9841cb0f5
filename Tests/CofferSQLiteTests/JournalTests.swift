import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized) struct JournalTests {
  @Test func selectionsSurviveTheJournal() throws {
    let keys = try ["a", "b/c", "caf\u{e9}", "cafe\u{301}", String(repeating: "x", count: 1_024)].map {
      try KeyName($0)
    }
    for selection in [
      .none, .everything, StoreSelection(keys: keys), StoreSelection(keys: keys, prefixes: keys.reversed()),
    ] {
      let bytes = selection.encoded()
      #expect(bytes.withUnsafeBytes { StoreSelection(decoding: $0) } == selection)
      // Any shorter or longer encoding is rejected.
      for count in 0..<bytes.count {
        #expect(bytes[..<count].withUnsafeBytes { StoreSelection(decoding: $0) } == nil)
      }
      #expect((bytes + [0]).withUnsafeBytes { StoreSelection(decoding: $0) } == nil)
    }
  }

  @Test func damagedSelectionsAreRefusedWithoutHarm() throws {
    var random = SeededGenerator(seed: 7)
    let good = StoreSelection(keys: try (0..<20).map { try KeyName("key/\($0)") }).encoded()
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      // Any decoded selection survives encoding.
      if let selection = bytes.withUnsafeBytes({ StoreSelection(decoding: $0) }) {
        #expect(selection.encoded().withUnsafeBytes { StoreSelection(decoding: $0) } == selection)
      }
    }
    // A count beyond the available bytes must be rejected.
    let lie: [UInt8] = [1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]
    #expect(lie.withUnsafeBytes { StoreSelection(decoding: $0) } == nil)
  }

  // Requirements 0.7, 1.65
  @Test func theJournalKeepsItsRetentionAndNoMore() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.journalRetention = 50
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    let origin = StoreOrigin()
    for index in 0..<500 {
      try await engine.commit(
        WriteBatch([.put(KeyName("k"), Data("\(index)".utf8))], durability: .relaxed), from: origin)
    }
    try await engine.flush()
    let rows = try await SQLiteDatabase(engine: engine).read { transaction in
      try transaction.query("SELECT count(*), max(revision) FROM coffer_journal") { ($0.integer(0), $0.integer(1)) }
    }
    #expect(rows[0].0 >= 50 && rows[0].0 <= 80, "\(rows)")
    #expect(rows[0].1 == 500)
    var iterator = engine.changes(since: .zero).makeAsyncIterator()
    #expect(await iterator.next() == .reload(upTo: StoreRevision(500)))
    try await engine.close()
  }

  @Test func onlyTheNewestRowOutlivesARetentionOfOne() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.journalRetention = 1
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    for index in 0..<10 {
      try await engine.commit(WriteBatch([.put(KeyName("k"), Data("\(index)".utf8))]), from: StoreOrigin())
    }
    try await engine.close()
    let again = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    #expect(again.latestRevision == StoreRevision(10))
    try await again.close()
  }

  /// The batches of a group may be committed one by one, with commits of other processes between them.
  @Test func aGapInWhatIsAnnouncedIsReadFromTheJournal() async throws {
    func commit(_ number: UInt64) -> StoreCommit {
      StoreCommit(
        revision: StoreRevision(number), transaction: TransactionID(), origin: StoreOrigin(), changed: .everything,
        date: .distantPast)
    }
    let all = (1...9).map { commit(UInt64($0)) }
    let feed = ChangeFeed(latest: .zero) { revision, limit in
      JournalPage(commits: Array(all[Int(revision.rawValue)...].prefix(limit)), isContiguous: true)
    }
    let stream = feed.subscribe(since: nil)
    feed.publish([all[0], all[1]])
    feed.publish([all[4], all[6], all[8]])
    #expect(feed.recentCommits(after: StoreRevision(7)) == nil)
    #expect(feed.recentCommits(after: StoreRevision(8)) == [all[8]])
    var heard: [StoreCommit] = []
    for await change in stream {
      guard case .commit(let commit) = change else { throw TestFailure("received a reload") }
      heard.append(commit)
      if commit.revision == StoreRevision(9) { break }
    }
    #expect(heard == all)
  }

  /// The journal may already contain commits that have not been announced.
  @Test func whatTheJournalKnowsBeforeItWasAnnouncedIsHeardOnce() async throws {
    let all = (1...20).map { number in
      StoreCommit(
        revision: StoreRevision(UInt64(number)), transaction: TransactionID(), origin: StoreOrigin(),
        changed: .everything,
        date: .distantPast)
    }
    let feed = ChangeFeed(latest: .zero) { revision, limit in
      JournalPage(commits: Array(all[Int(revision.rawValue)...].prefix(limit)), isContiguous: true)
    }
    let stream = feed.subscribe(since: nil)
    feed.advance(to: StoreRevision(5))
    var iterator = stream.makeAsyncIterator()
    for commit in all.prefix(10) {
      #expect(await iterator.next() == .commit(commit))
      #expect(feed.latest >= commit.revision)
    }
    feed.advance(to: StoreRevision(12))
    for commit in all.suffix(10) { #expect(await iterator.next() == .commit(commit)) }
  }

  /// After another history has replaced the one that was announced.
  @Test func allSubscribersReloadAfterARestart() async throws {
    let all = (1...8).map { number in
      StoreCommit(
        revision: StoreRevision(UInt64(number)), transaction: TransactionID(), origin: StoreOrigin(),
        changed: .everything, date: .distantPast)
    }
    let feed = ChangeFeed(latest: .zero) { revision, limit in
      JournalPage(commits: Array(all[Int(revision.rawValue)...].prefix(limit)), isContiguous: true)
    }
    var (current, behind) = (
      feed.subscribe(since: nil).makeAsyncIterator(), feed.subscribe(since: nil).makeAsyncIterator()
    )
    feed.publish(Array(all.prefix(5)))
    for commit in all.prefix(5) { #expect(await current.next() == .commit(commit)) }
    feed.restart(at: StoreRevision(4))  // The newest revision does not go back.
    for _ in 0..<2 {
      #expect(await current.next() == .reload(upTo: StoreRevision(5)))
      #expect(await behind.next() == .reload(upTo: StoreRevision(5)))
      feed.restart(at: StoreRevision(5))
    }
    feed.advance(to: StoreRevision(6))
    #expect(await current.next() == .reload(upTo: StoreRevision(6)))
    feed.advance(to: StoreRevision(8))
    #expect(await current.next() == .commit(all[6]))
    var later = feed.subscribe(since: StoreRevision(7)).makeAsyncIterator()
    #expect(await later.next() == .commit(all[7]))
  }

  @Test func oneLargeBatchIsHeardAsOneCommit() async throws {
    let engine = MemoryEngine(journalCapacity: 16)
    let stream = engine.changes(since: nil)
    let batch = WriteBatch(try (0..<100).map { .put(try KeyName("k\($0)"), Data()) })
    let commit = try await engine.commit(batch, from: StoreOrigin())
    var iterator = stream.makeAsyncIterator()
    #expect(await iterator.next() == .commit(commit))
  }

  @Test func aPositionThatTheStoreDoesNotHaveIsToldToReload() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    try await engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    var iterator = engine.changes(since: StoreRevision(1_000_000)).makeAsyncIterator()
    #expect(await iterator.next() == .reload(upTo: StoreRevision(1)))
    try await engine.commit(WriteBatch([.put(KeyName("k"), Data("2".utf8))]), from: StoreOrigin())
    guard case .commit(let commit)? = await iterator.next() else { throw TestFailure("no commit was received") }
    #expect(commit.revision == StoreRevision(2))
    try await engine.close()
  }

  @Test func datesComeFromTheGivenClock() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.clock = StoreClock { Date(timeIntervalSince1970: 1_000_000) }
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    try await engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    let dates = try await SQLiteDatabase(engine: engine).read { transaction in
      try transaction.query("SELECT committed_at FROM coffer_journal") { $0.integer(0) }
    }
    #expect(dates == [1_000_000_000])
    try await engine.close()
  }
}
