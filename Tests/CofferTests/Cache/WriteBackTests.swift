import Coffer
import CofferCore
import CofferTesting
import Foundation
import Testing

/// Saves that return from memory, and what commits them.
@Suite(.timeLimit(.minutes(5))) struct WriteBackTests {
  let memory = MemoryEngine()
  let clock = ManualClock()

  private func store(_ engine: (any StorageEngine)? = nil, limit: Int = 8 << 20) -> TypedStore {
    let policy = WritePolicy.back(maximumPendingBytes: limit, clock: clock)
    return TypedStore(engine: engine ?? memory, writePolicy: policy)
  }

  // Requirement 1.33
  @Test func ownReadsSeeASaveAtOnceAndOthersAfterTheFlush() async throws {
    let store = store()
    let other = TypedStore(engine: memory)
    try await other.save("old", for: "a")
    try await other.save("old", for: "gone")
    try await store.save("new", for: "a")
    try await store.delete("gone")
    #expect(memory.latestRevision.rawValue == 2)
    #expect(store.cached(String.self, for: "a") == "new")
    #expect(store.cached(String.self, for: "gone") == nil)
    #expect(try await store.load(String.self, for: "a") == "new")
    #expect(try await store.load(Data.self, for: "a") == Data("new".utf8))
    #expect(try await store.load(String.self, for: "gone") == nil)
    #expect(try await store.exists("a"))
    #expect(try await !store.exists("gone"))
    #expect(try await store.loadAll(String.self, keys: ["a", "gone"] as [KeyName]) == ["new", nil])
    #expect(try await other.load(String.self, for: "a") == "old")
    #expect(store.pendingWrites.count == 2)
    store.dropCache()
    #expect(store.cached(String.self, for: "a") == "new", "what is pending is no cache")
    try await store.flush()
    #expect(store.pendingWrites.count == 0 && store.pendingWrites.bytes == 0)
    #expect(try await other.load(String.self, for: "a") == "new")
    #expect(try await other.load(String.self, for: "gone") == nil)
    #expect(store.cached(String.self, for: "a") == "new")
  }

  // Requirement 1.33
  @Test func theWindowCommitsWhatIsPendingAsOneCommit() async throws {
    let store = store()
    let changes = memory.changes(since: nil)
    for index in 0..<10 { try await store.save(index, for: "k\(index % 3)") }
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(249))
    #expect(store.pendingWrites.count == 3)
    clock.advance(by: .milliseconds(1))
    for await change in changes {
      guard case .commit(let commit) = change else { continue }
      #expect(Set(commit.changed.keys.map(\.string)) == ["k0", "k1", "k2"])
      #expect(commit.origin == store.origin)
      break
    }
    #expect(try await TypedStore(engine: memory).load(Int.self, for: "k0") == 9)
  }

  @Test func whatStaysPendingOfAStoreThatIsGoneIsCommitted() async throws {
    let changes = memory.changes(since: nil)
    try await store().save("v", for: "k")
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(250))
    for await _ in changes { break }
    #expect(try await TypedStore(engine: memory).load(String.self, for: "k") == "v")
  }

  @Test func aWriteWithATransactionIsCommittedAtOnceAfterWhatIsPending() async throws {
    let store = store()
    let before = memory.latestRevision
    let transaction = TransactionID()
    for number in 1...2 { try await store.save(number, for: "a", durability: .relaxed) }
    try await store.save(3, for: "b", transaction: transaction)
    #expect(store.pendingWrites.count == 0)
    let commits = try #require(memory.recentCommits(after: before))
    #expect(commits.map { Set($0.changed.keys.map(\.string)) } == [["a"], ["b"]])
    #expect(commits.last?.transaction == transaction)
  }

  @Test func operationsOnStoredValuesFlushBefore() async throws {
    let store = store()
    try await store.save(1, for: "k")
    #expect(try await store.update(Int.self, for: "k") { ($0 ?? 0) + 1 } == 2)
    try await store.save(5, for: "k")
    let sum = try await store.transaction { transaction in try await transaction.load(Int.self, for: "k") }
    #expect(sum == 5)
    try await store.save(6, for: "k")
    let versioned = try await store.loadVersioned(Int.self, for: "k")
    #expect(versioned.value == 6)
    try await store.save(7, for: "k")
    #expect(
      await codeThrown { try await store.saveIfUnchanged(8, for: "k", since: versioned.revision) }
        == .preconditionFailed)
    #expect(try await store.load(Int.self, for: "k") == 7)
    try await TypedStore(engine: memory).save(1, for: "other")
    try await store.save(8, for: "k")
    #expect(try await store.loadAll(Int.self, keys: ["k", "other"] as [KeyName]) == [8, 1])
    #expect(store.pendingWrites.count == 0)
    try await store.save(9, for: "k")
    for await value in try store.values(of: "k", as: Int.self) {
      #expect(try value.get() == 9)
      break
    }
  }

  @Test func observersReceiveEachCommitOnceAndAPendingSaveWinsOverANewerForeignOne() async throws {
    let store = store()
    let changes = try store.changes(of: "k")
    try await store.save("mine", for: "k")
    try await TypedStore(engine: memory).save("theirs", for: "k")
    #expect(try await store.load(String.self, for: "k") == "mine")
    try await store.flush()
    #expect(try await TypedStore(engine: memory).load(String.self, for: "k") == "mine")
    var own: [Bool] = []
    for await change in changes {
      if case .changed(_, _, let isOwn) = change { own.append(isOwn) }
      if own.count == 2 { break }
    }
    #expect(own == [false, true])
  }

  @Test func aPendingValueExpires() async throws {
    let dates = SettableClock()
    let store = store(MemoryEngine(clock: dates.storeClock))
    try await store.save("v", for: "k", expires: dates.now + 10)
    #expect(try await store.load(String.self, for: "k") == "v")
    dates.advance(by: 10)
    #expect(try await store.load(String.self, for: "k") == nil)
    #expect(store.cached(String.self, for: "k") == nil)
    #expect(try await !store.exists("k"))
  }

  // Requirement 1.33
  @Test func aFailedCommitKeepsItsValuesAndTheFlushThrows() async throws {
    let engine = FaultInjectingEngine(memory)
    let store = store(engine)
    engine.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, times: 2)
    try await store.save(1, for: "a")
    try await store.save(2, for: "b")
    #expect(await codeThrown { try await store.flush() } == .diskFull)
    #expect(store.pendingWrites.count == 2)
    #expect(store.pendingWrites.failure?.code == .diskFull)
    #expect(try await store.load(Int.self, for: "a") == 1)
    #expect(memory.latestRevision == .zero, "no later write overtakes one that failed")
    #expect(await codeThrown { try await store.close() } == .diskFull)
    try await store.save(3, for: "a")  // The engine stayed open.
    try await store.close()
    #expect(store.pendingWrites.count == 0 && store.pendingWrites.failure == nil)
    #expect(await codeThrown { try await store.save(4, for: "a") } == .closed)
  }

  /// Advances the clock by a pause after a failure, before whose end nothing is committed.
  private func expectPause(_ pause: Duration, _ engine: FaultInjectingEngine) async {
    await clock.waitForSleepers()
    let count = engine.count(of: .commit)
    clock.advance(by: pause - .milliseconds(1))
    for _ in 0..<100 { await Task.yield() }
    #expect(engine.count(of: .commit) == count && clock.sleeperCount == 1, "before \(pause)")
    clock.advance(by: .milliseconds(1))
    let deadline = ContinuousClock.now + .seconds(60)
    while engine.count(of: .commit) == count, ContinuousClock.now < deadline { await Task.yield() }
    #expect(engine.count(of: .commit) == count + 1, "after \(pause)")
  }

  @Test func aCommitThatFailedIsTriedAgainAfterASecondOrByAFlush() async throws {
    let engine = FaultInjectingEngine(memory)
    let store = store(engine)
    engine.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, times: 4)
    try await store.save(1, for: "a")
    await expectPause(.milliseconds(250), engine)
    for _ in 0..<2 { await expectPause(.seconds(1), engine) }
    await clock.waitForSleepers()
    #expect(await codeThrown { try await store.flush() } == .diskFull)
    #expect(memory.latestRevision == .zero)
    await expectPause(.seconds(1), engine)
    #expect(memory.latestRevision.rawValue == 1)
    try await store.save(2, for: "a")
    await expectPause(.milliseconds(250), engine)
  }

  @Test func whatIsDiscardedIsGoneAndLaterSavesAreCommitted() async throws {
    let store = store()
    try await TypedStore(engine: memory).save(0, for: "a")
    try await store.save(1, for: "a")
    #expect(await store.discardPendingWrites() == ["a"])
    #expect(try await store.load(Int.self, for: "a") == 0)
    #expect(store.pendingWrites.count == 0 && store.pendingWrites.bytes == 0)
    try await store.flush()
    try await store.save(2, for: "a")
    try await store.flush()
    #expect(try await TypedStore(engine: memory).load(Int.self, for: "a") == 2)
  }

  /// A commit waits on a clock of its own while other writes are accepted.
  @Test(arguments: [true, false]) func writesDuringACommit(succeeds: Bool) async throws {
    let gate = ManualClock()
    let engine = FaultInjectingEngine(memory, clock: gate)
    let store = store(engine)
    engine.inject(.delay(.seconds(1)), into: .commit)
    if !succeeds { engine.inject(.fail(StorageError(.busy, "The store is locked.")), into: .commit) }
    for key in ["a", "b"] as [KeyName] { try await store.save(1, for: key) }
    let first = Task { try await store.flush() }
    await gate.waitForSleepers()
    try await store.save(2, for: "a")
    #expect(store.pendingWrites.count == 2 && store.pendingWrites.bytes == 6)
    #expect(try await store.loadAll(Int.self, keys: ["a", "b"] as [KeyName]) == [2, 1])
    let second = Task { try await store.flush() }
    gate.advance(by: .seconds(1))
    #expect(await codeThrown { try await first.value } == (succeeds ? nil : .busy))
    try await second.value
    #expect(store.pendingWrites.count == 0 && engine.count(of: .commit) == 2)
    #expect(try await TypedStore(engine: memory).loadAll(Int.self, keys: ["a", "b"] as [KeyName]) == [2, 1])
  }

  @Test func aDiscardWaitsForTheCommitUnderWay() async throws {
    let gate = ManualClock()
    let engine = FaultInjectingEngine(memory, clock: gate)
    for number in 0..<20 {
      let store = store(engine)
      engine.inject(.delay(.seconds(1)), into: .commit)
      try await store.save(number, for: "a")
      let first = Task { try await store.flush() }
      await gate.waitForSleepers()
      try await store.save(number, for: "b")
      let second = Task { try await store.flush() }
      let discard = Task { await store.discardPendingWrites() }
      for _ in 0..<100 { await Task.yield() }
      gate.advance(by: .seconds(1))
      try await first.value
      let (code, discarded) = (await codeThrown { try await second.value }, await discard.value)
      // Either the second flush or the discard was first.
      #expect(code == nil || code == .unfinished && discarded == ["b"])
      #expect(try await (store.load(Int.self, for: "b") == number) == discarded.isEmpty)
      #expect(try await TypedStore(engine: memory).load(Int.self, for: "a") == number)
    }
  }

  @Test func aSaveBeyondTheLimitFlushesFirst() async throws {
    let engine = FaultInjectingEngine(memory)
    let store = store(engine, limit: 100)
    let value = String(repeating: "x", count: 59)
    try await store.save(value, for: "a")
    #expect(store.pendingWrites.bytes == 60)
    engine.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit)
    #expect(await codeThrown { try await store.save(value, for: "b") } == .diskFull)
    #expect(store.pendingWrites.bytes == 60, "the refused save is not pending")
    try await store.save(value, for: "b")
    #expect(store.pendingWrites.bytes == 60)
    try await store.save(String(repeating: "x", count: 500), for: "c")
    #expect(store.pendingWrites.bytes == 0, "what is larger than the limit is committed at once")
  }

  @Test func aValueThatNoCommitAcceptsIsRefusedBySave() async throws {
    let engine = AdapterEngine(ThirdPartyAdapter())
    let store = store(engine)
    #expect(await codeThrown { try await store.save(1, for: "a", expires: .now + 60) } == .unsupported)
    for number in 0..<5 { try await store.save(number, for: "b") }
    try await store.save(6, for: "c")
    try await store.flush()
    #expect(try await store.load(Int.self, for: "b") == 4)
    #expect(try await store.load(Int.self, for: "c") == 6)
    let readOnly = self.store(ReadOnlyEngine(memory))
    #expect(await codeThrown { try await readOnly.save(1, for: "a") } == .readOnly)
  }

  @Test func aStoreOverAClosedEngineAcceptsNothing() async throws {
    let store = store()
    try await store.save(1, for: "k")
    try await memory.close()
    #expect(await codeThrown { try await store.flush() } == .closed)
    #expect(await codeThrown { try await store.save(2, for: "k") } == .closed)
    #expect(await codeThrown { try await store.close() } == .closed)
    #expect(await codeThrown { try await store.save(2, for: "k") } == .closed)
    #expect(store.pendingWrites.count == 1)
    #expect(await store.discardPendingWrites() == ["k"])
  }
}
