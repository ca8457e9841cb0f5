import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite("Hidden names") struct HiddenNameTests {
  private let longest = KeyName.known(String(repeating: "n", count: 1_024))

  @Test(arguments: TestedStore.with(.plain)) func theLongestNames(_ kind: TestedStore) async throws {
    let directory = try TemporaryDirectory()
    let base = try await kind.open(in: directory.url)
    let engine = try await base.encrypted(.secret)
    let changes = Collector(engine.changes(since: nil))
    var attributes = ValueAttributes()
    attributes[ValueAttribute<String>(applicationCode: 200)] = String(repeating: "a", count: 1_000)
    try await engine.put(longest, "1", attributes)
    let last = try await engine.commit(WriteBatch([.clear(prefix: longest)]), from: StoreOrigin())
    #expect(try await changes.commits(upTo: last.revision).map(\.changed.keys) == [[longest], [longest]])
    try await engine.put(longest, "2", attributes)
    #expect(try await engine.summaries().map(\.key) == [longest])
    #expect(try await engine.summaries().map(\.attributes) == [attributes])
    #expect(try await base.summaries().map(\.key.size) == [43])
    try await engine.close()
  }

  @Test func errorsHaveTheNameAndNeverTheHash() async throws {
    let base = MemoryEngine(maximumValueSize: 1_000)
    let faults = FaultInjectingEngine(base)
    let engine = try await faults.encrypted(.hidden)
    try await engine.put("name", "1")
    let hash = try #require(try await base.summaries().first?.key)
    func check(_ error: StorageError?) {
      #expect(error?.key == "name")
      #expect(error?.description.contains(hash.string) == false)
      #expect(error?.description.components(separatedBy: "'name'").count == 2, "\(error?.description ?? "")")
    }
    let batch = WriteBatch([.require("name", nil), .put("name", Data())])
    check(await expectStorageError(.preconditionFailed) { try await engine.commit(batch, from: StoreOrigin()) })
    check(
      await expectStorageError(.valueTooLarge) { try await engine.put("name", String(repeating: "1", count: 1_001)) })
    let fault = StorageError(.damaged, "The row \(hash) is damaged.", location: "memory:memory", key: hash)
    faults.inject(.fail(fault), into: .read)
    let error = await expectStorageError(.damaged) { _ = try await engine.entry("name") }
    #expect(error?.message == "The row name is damaged." && error?.key == "name")
  }

  @Test func aListingUsesTheIndexOfItsOwnSnapshot() async throws {
    let base = MemoryEngine()
    let (engine, other) = (try await base.encrypted(.hidden), try await base.encrypted(.hidden))
    for number in 0..<50 { try await engine.put(.known("key/\(number)"), "\(number)") }
    try await engine.withSnapshot { snapshot in
      try await other.commit(WriteBatch([.delete("key/7"), .put("key/x", Data())]), from: StoreOrigin())
      // A listing at the newer revision first, so that the index must go back.
      #expect(try await engine.summaries(prefix: "key/").count == 50)
      #expect(try await engine.summaries(prefix: "key/").contains { $0.key == "key/x" })
      let old = try await snapshot.allSummaries(prefix: "key/")
      #expect(old.count == 50 && old.contains { $0.key == "key/7" } && !old.contains { $0.key == "key/x" })
      #expect(old.map(\.key) == old.map(\.key).sorted())
    }
    #expect(try await other.summaries(prefix: "key/").map(\.key) == engine.summaries(prefix: "key/").map(\.key))
  }

  @Test func expiredValuesAreAbsentAndComeBackWithTheClock() async throws {
    let clock = SettableClock()
    let base = MemoryEngine(clock: clock.storeClock)
    let engine = try await base.encrypted(.hidden)
    let start = clock.storeClock.now()
    try await engine.put("kept", "1")
    try await engine.put("token", "2", ValueAttributes(expires: start + 60))
    #expect(try await engine.summaries().map(\.key) == ["kept", "token"])
    clock.set(start + 61)
    #expect(try await engine.summaries().map(\.key) == ["kept"])
    #expect(try await engine.entry("token") == nil)
    #expect(try await engine.stores("token", isPrefix: false))
    try await engine.put("more", "3")
    #expect(try await engine.summaries().map(\.key) == ["kept", "more"])
    clock.set(start + 30)
    #expect(try await engine.summaries().map(\.key) == ["kept", "more", "token"])
  }

  @Test func aPageWhoseValuesHaveExpiredIsNotTheEnd() async throws {
    let clock = SettableClock()
    let engine = try await MemoryEngine(clock: clock.storeClock).encrypted(.hidden)
    let start = clock.storeClock.now()
    for name in ["a", "b"] { try await engine.put(.known(name), "1", ValueAttributes(expires: start + 60)) }
    try await engine.put("c", "2")
    func keys() async throws -> [KeyName] {
      try await engine.withSnapshot { snapshot in
        var keys: [KeyName] = []
        while let entry = try await snapshot.page(prefix: nil, after: keys.last, limit: 1).first {
          keys.append(entry.key)
        }
        return keys
      }
    }
    #expect(try await keys() == ["a", "b", "c"])
    clock.set(start + 61)
    #expect(try await keys() == ["c"])
  }

  /// Another writer adds a key of the prefix after it was listed and before it is cleared.
  @Test func clearingAPrefixMissesNothing() async throws {
    let base = MemoryEngine()
    let hook = Locked<(@Sendable () async throws -> Void)?>(nil)
    let engine = try await Interposed(base: base, hook: hook).encrypted(.hidden)
    let other = try await base.encrypted(.hidden)
    for name in ["p/1", "p/2", "q"] { try await engine.put(.known(name), "1") }
    let changes = Collector(other.changes(since: nil))
    hook.withLock { $0 = { try await other.put("p/late", "2") } }
    let batch = WriteBatch([.clear(prefix: "p/"), .put("p/new", Data("3".utf8))], transaction: TransactionID())
    let commit = try await engine.commit(batch, from: StoreOrigin())
    #expect(try await engine.summaries().map(\.key) == ["p/new", "q"])
    #expect(commit.changed == StoreSelection(keys: ["p/new"], prefixes: ["p/"]))
    let heard = try await changes.commits(upTo: base.latestRevision)
    #expect(heard.map(\.transaction).suffix(2) == [batch.transaction, batch.transaction])
    // Another handle knows the name that it has put, and no name of a removed value beside it.
    let late = StoreSelection(keys: ["p/late"])
    #expect(heard.map(\.changed) == [late, .everything, late])
  }

  @Test func cachesSeeNames() async throws {
    let base = MemoryEngine()
    let (engine, other) = (try await base.encrypted(.hidden), try await base.encrypted(.hidden))
    let start = engine.latestRevision
    try await other.put("a", "1")
    try await other.commit(WriteBatch([.clear(prefix: "a")]), from: StoreOrigin())
    try await other.commit(WriteBatch([.clear(prefix: nil), .put("b", Data())]), from: StoreOrigin())
    #expect(engine.recentCommits(after: start) == nil, "the name of a removed value is not stored")
    let recent = try #require(other.recentCommits(after: start))
    #expect(recent.map(\.changed) == [StoreSelection(keys: ["a"]), StoreSelection(keys: ["a"]), .everything])
  }

  @Test func subscribersReceiveTheNamesOfWhatOthersHaveStored() async throws {
    let base = MemoryEngine()
    let (engine, other) = (try await base.encrypted(.hidden), try await base.encrypted(.hidden))
    let changes = Collector(engine.changes(since: nil))
    try await other.put("a", "1")
    // Sealed under a key that the subscriber does not have yet.
    try await base.changeRing { try $0.addPrimary(now: Date()) }
    let last = try await other.commit(WriteBatch([.put("b", Data()), .put("c", Data())]), from: StoreOrigin())
    let heard = try await changes.commits(upTo: last.revision).map(\.changed)
    #expect(heard.filter { !$0.keys.isEmpty } == [StoreSelection(keys: ["a"]), StoreSelection(keys: ["b", "c"])])
  }

  @Test func aCommitThatRemovesAnUnknownNameChangesEverything() async throws {
    let base = MemoryEngine()
    let engine = try await base.encrypted(.hidden)
    try await engine.put("a", "1")
    let hash = try #require(try await base.summaries().first?.key)
    let reader = try await base.encrypted(.hidden)
    let changes = Collector(reader.changes(since: nil))
    try await base.commit(WriteBatch([.delete(hash)]), from: StoreOrigin())
    #expect(try await changes.commits(upTo: base.latestRevision).map(\.changed) == [.everything])
  }
}

/// Runs a closure once, right before the next commit.
private struct Interposed: EngineDecorator {
  let base: any StorageEngine
  let hook: Locked<(@Sendable () async throws -> Void)?>

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let run = hook.withLock { hook in
      defer { hook = nil }
      return hook
    }
    try await run?()
    return try await base.commit(batch, from: origin)
  }
}
