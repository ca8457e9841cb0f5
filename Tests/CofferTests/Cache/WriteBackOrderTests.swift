import CofferLocks
import CofferTesting
import Foundation
import Testing

@testable import Coffer

/// The order of pending writes, and what a flush promises, beside writes that are refused.
@Suite(.timeLimit(.minutes(5))) struct WriteBackOrderTests {
  private let engine = RefusingEngine()
  private let clock = ManualClock()

  private func store(_ engine: RefusingEngine? = nil, limit: Int = 8 << 20) -> TypedStore {
    let policy = WriteBackPolicy(maximumPendingBytes: limit, scheduler: FlushScheduler(clock: clock))
    return TypedStore(engine: engine ?? self.engine, writePolicy: .back(policy))
  }

  private func refuse(_ keys: StoreKey...) { engine.refused.withLock { $0 = Set(keys) } }

  /// Windows end during each commit of a store that is slow and steadily written to.
  @Test(arguments: [nil, ["good"], ["bad"]] as [[StoreKey]?])
  func aFlushReturnsBesideARefusedKeyWhateverWindowsEnd(_ keys: [StoreKey]?) async throws {
    let store = store()
    let pending = try #require(store.pending)
    refuse("bad")
    for key in ["bad", "good"] as [StoreKey] { try await store.save(0, for: key) }
    engine.beforeCommit { attempt in
      guard attempt < 100 else { return }
      try await store.save(attempt, for: StoreKey("k\(attempt)"))
      pending.windowEnded()
    }
    let code = await codeThrown { try await pending.flush(keys) }
    #expect(engine.attempts.withLock { $0 } < 20)
    #expect(code == (keys == ["good"] ? nil : .unsupported))
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "good") == 0)
    engine.beforeCommit(nil)
    _ = await store.discardPendingWrites()
  }

  @Test func aFlushTriesAValueThatReplacesARefusedOneDuringARun() async throws {
    let store = store()
    let (isRefused, mayGoOn) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    refuse("bad")
    for (number, key) in (["bad", "good"] as [StoreKey]).enumerated() { try await store.save(number, for: key) }
    engine.beforeCommit { attempt in
      guard attempt == 2 else { return }
      isRefused.continuation.yield()
      for await _ in mayGoOn.stream { break }
    }
    let first = Task { try await store.flush() }
    for await _ in isRefused.stream { break }
    refuse()
    try await store.save(5, for: "bad")
    let second = Task { try await store.flush() }
    // Once the second flush waits for the run of the first, which cannot be seen from here.
    for _ in 0..<100 { await Task.yield() }
    mayGoOn.continuation.yield()
    #expect(await codeThrown { try await first.value } == .unsupported)
    try await second.value
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "bad") == 5)
  }

  /// Engines add the key to whatever fails while its value is stored: too many open files, a failing device.
  @Test(arguments: [.inputOutput, .permissionDenied, .damaged, .notFound, .busy] as [StorageError.Code])
  func nothingOvertakesAWriteThatFailsForTheWholeStore(_ code: StorageError.Code) async throws {
    let store = store()
    engine.beforeCommit { attempt in
      if attempt == 1 { throw StorageError(code, "The process has too many files open.", key: "data") }
    }
    try await store.save(1, for: "data")
    try await store.save(1, for: "pointer", transaction: TransactionID())
    let error = await #expect(throws: StorageError.self) { try await store.flush() }
    #expect(error?.code == code && engine.keys == [])
    try await store.flush()
    #expect(engine.keys == [["data"], ["pointer"]])
  }

  @Test func aWriteThatReplacesARefusedOneDoesNotOvertakeEarlierOnes() async throws {
    let store = store()
    refuse("pointer")
    try await store.save(0, for: "pointer")
    #expect(await codeThrown { try await store.flush() } == .unsupported)
    try await store.save(1, for: "data")
    try await store.save(1, for: "pointer")
    refuse()
    try await store.flush()
    #expect(engine.keys == [["data"], ["pointer"]])
  }

  @Test func aWriteAfterAFailureDoesNotJoinARefusedOne() async throws {
    let store = store()
    refuse("bad")
    try await store.save(0, for: "bad")
    #expect(await codeThrown { try await store.flush() } == .unsupported)
    engine.isBusy.withLock { $0 = true }
    #expect(await codeThrown { try await store.flush() } == .busy)
    engine.isBusy.withLock { $0 = false }
    try await store.save(1, for: "good")
    #expect(await codeThrown { try await store.flush() } == .unsupported)
    #expect(engine.keys == [["good"]] && store.pendingWrites.count == 1)
    refuse()
    try await store.flush()
    #expect(engine.keys == [["good"], ["bad"]] && store.pendingWrites.bytes == 0)
  }

  @Test func aGroupIsDividedInTheOrderOfItsLastWrites() async throws {
    let engine = RefusingEngine(namesKeys: false)
    let store = store(engine)
    engine.refused.withLock { $0 = ["bad"] }
    try await store.save(0, for: "pointer")
    try await store.save(1, for: "x")
    try await store.save(1, for: "data")
    try await store.save(1, for: "pointer")
    try await store.save(0, for: "bad")
    #expect(await codeThrown { try await store.flush() } == .unsupported)
    let keys = engine.keys
    let (data, pointer) = (keys.firstIndex { $0.contains("data") }, keys.firstIndex { $0.contains("pointer") })
    #expect(try #require(data) <= #require(pointer), "\(keys)")
  }

  @Test func noEmptyGroupIsLeftWhereAllOfItIsRefused() async throws {
    var state = WriteBuffer.State()
    state.add(WriteBatch([.put("bad", Data("1".utf8), ValueAttributes())]), [("bad", nil)], limit: 100)
    state.seal()
    #expect(state.nextSealed()?.items.map(\.key) == ["bad"])
    state.divideFirst(StorageError(.unsupported, "Not this.", key: "bad"))
    #expect(state.groups.isEmpty && state.sealed == 0 && state.bytes == 4)
    state.unseal()
    #expect(!state.isDone(1, nil) && state.discard() == ["bad"])
    #expect(state.isDone(1, nil) && !state.isDone(2, nil) && state.bytes == 0)
  }

  @Test func aDiscardWaitsForTheRunsThatBeginMeanwhile() async throws {
    let store = store()
    let pending = try #require(store.pending)
    refuse("bad")
    for key in ["bad", "good"] as [StoreKey] { try await store.save(0, for: key) }
    let (isRunning, mayGoOn) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    engine.beforeCommit { attempt in
      if attempt == 1 {
        isRunning.continuation.yield()
        for await _ in mayGoOn.stream { break }
      }
      guard attempt < 100 else { return }
      try await store.save(attempt, for: StoreKey("k\(attempt)"))
      pending.windowEnded()
    }
    pending.windowEnded()
    for await _ in isRunning.stream { break }
    let discard = Task { await store.discardPendingWrites() }
    for _ in 0..<100 { await Task.yield() }
    mayGoOn.continuation.yield()
    #expect(await discard.value.contains("bad"))
    #expect(engine.attempts.withLock { $0 } < 20)
    #expect(store.pendingWrites.failure == nil || store.pendingWrites.failure?.key != "bad")
    engine.beforeCommit(nil)
  }

  @Test func aFlushIsWholeIfOnlyOtherWritesAreDiscarded() {
    var state = WriteBuffer.State()
    func add(_ key: StoreKey) {
      let batch = WriteBatch([.put(key, Data("1".utf8), ValueAttributes())], transaction: TransactionID())
      state.add(batch, [(key, nil)], limit: 100)
    }
    add("a")
    let before = state.beginFlush(nil)
    add("b")
    let flushes = ([["a"], ["b"], nil] as [[StoreKey]?]).map { state.beginFlush($0) }
    state.seal()
    #expect(state.nextSealed()?.items.map(\.key) == ["a"])
    state.finishFirst()
    state.unseal()
    #expect(state.discard() == ["b"])
    #expect(state.endFlush(before.number) && flushes.map { state.endFlush($0.number) } == [true, false, false])
  }

  @Test func refusedValuesBeyondTheLimitLeaveTheStoreUsable() async throws {
    let store = store(limit: 100)
    let value = String(repeating: "x", count: 90)
    refuse("bad1", "bad2", "bad3")
    for key in ["bad1", "bad2"] as [StoreKey] {
      try await store.save(value, for: key)
      #expect(await codeThrown { try await store.flush() } == .unsupported)
    }
    #expect(store.pendingWrites.bytes == 188)
    try await store.save(value, for: "good")
    #expect(engine.keys == [["good"]] && store.pendingWrites.bytes == 188, "it was committed at once")
    #expect(await codeThrown { try await store.save(value, for: "bad3") } == .unsupported)
    #expect(await codeThrown { try await store.save(value + "y", for: "bad1") } == .unsupported)
    #expect(try await store.load(String.self, for: "bad1") == value && store.pendingWrites.count == 2)
    // What may repair them is accepted, and then there is room again.
    try await store.save("x", for: "bad1")
    #expect(store.pendingWrites.bytes == 99)
    try await store.delete("bad2")
    try await store.save(value, for: "good")
    #expect(engine.keys == [["good"]] && store.pendingWrites.bytes == 103)
    refuse()
    try await store.flush()
    #expect(store.pendingWrites.count == 0 && store.pendingWrites.bytes == 0)
    // A value beyond the limit that is refused is not pending.
    refuse("bad1")
    #expect(await codeThrown { try await store.save(value + value, for: "bad1") } == .unsupported)
    #expect(try await store.load(String.self, for: "bad1") == "x" && store.pendingWrites.count == 0)
  }

  /// The windows of others do not try refused values, which are tried after 1, 2, 4, ... 60 s.
  @Test func refusedValuesAreTriedAtGrowingIntervals() async throws {
    let store = store()
    refuse("bad")
    try await store.save(0, for: "bad")
    var attempts = 0
    func pass(_ time: Duration) async throws {
      await clock.waitForSleepers()
      clock.advance(by: time)
      attempts += 1
      try await waitUntil("it is tried") { engine.attempts.withLock { $0 } == attempts }
    }
    try await pass(.milliseconds(250))
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
      await clock.waitForSleepers()
      clock.advance(by: .seconds(seconds) - .milliseconds(1))
      #expect(clock.sleeperCount == 1)
      try await pass(.milliseconds(1))
    }
    await clock.waitForSleepers()
    try await store.save(1, for: "good")
    try await waitUntil("the window has begun") { clock.sleeperCount == 1 }
    try await pass(.milliseconds(250))
    #expect(engine.keys == [["good"]] && store.pendingWrites.failure?.key == "bad")
    // A value that may be accepted does not wait.
    refuse()
    try await store.save(2, for: "bad")
    try await pass(.milliseconds(250))
    try await waitUntil("nothing is pending") { store.pendingWrites.count == 0 }
    #expect(engine.keys == [["good"], ["bad"]] && store.pendingWrites.failure == nil)
  }

  @Test func aNewerValueIsTriedWithTheNextWindowThoughItCameBeforeTheRefusal() async throws {
    let store = store()
    refuse("bad")
    try await store.save(0, for: "bad")
    engine.beforeCommit { attempt in
      guard attempt == 1 else { return }
      try await store.save(1, for: "bad")
    }
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(250))
    try await waitUntil("it is refused") { store.pendingWrites.failure != nil }
    refuse()
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(250))
    try await waitUntil("nothing is pending") { store.pendingWrites.count == 0 }
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "bad") == 1)
  }
}
