import Coffer
import CofferLocks
import CofferProcessTesting
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Pending writes whose content the store refuses, beside others that it takes.
@Suite(.blocking, .timeLimit(.minutes(5))) struct WriteBackRefusalTests {
  private let directory: TemporaryDirectory
  private let clock = ManualClock()
  private var path: String { directory.path("files") }

  init() throws { directory = try TemporaryDirectory() }

  private func open(limit: Int = 8 << 20) async throws -> (TypedStore, SlotEngine) {
    let engine = try await SlotEngine.files(in: path)
    let policy = WriteBackPolicy(maximumPendingBytes: limit, scheduler: FlushScheduler(clock: clock))
    return (TypedStore(engine: engine, writePolicy: .back(policy)), engine)
  }

  /// Puts a directory where the file of a value would be.
  private func obstruct(_ key: String) throws {
    try FileManager.default.createDirectory(atPath: "\(path)/\(key)", withIntermediateDirectories: true)
  }

  private func clear(_ key: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(key)") }

  @Test func aKeyThatTheStoreCannotHoldDoesNotKeepBackTheOthers() async throws {
    let (store, engine) = try await open()
    let other = TypedStore(engine: engine)
    for key in ["folder", "shelf"] { try obstruct(key) }
    for number in 0..<20 { try await store.save(number, for: StoreKey("k\(number)")) }
    try await store.save("v1", for: "folder")
    try await store.save("v1", for: "shelf")
    for number in 20..<40 { try await store.save(number, for: StoreKey("k\(number)")) }
    let error = await #expect(throws: StorageError.self) { try await store.flush() }
    #expect(error?.code == .notAStore && ["folder", "shelf"].contains(error?.key?.string))
    for number in 0..<40 { #expect(try await other.load(Int.self, for: StoreKey("k\(number)")) == number) }
    #expect(store.pendingWrites.count == 2 && store.pendingWrites.failure?.code == .notAStore)
    #expect(try await store.load(String.self, for: "folder") == "v1")
    // What is saved later does not wait, either, and calls that flush before themselves go on.
    try await store.save("later", for: "k0")
    #expect(await codeThrown { try await store.flush() } == .notAStore)
    #expect(try await other.load(String.self, for: "k0") == "later")
    #expect(try await store.loadVersioned(String.self, for: "k0").value == "later")
    #expect(try await store.update(Int.self, for: "k1") { ($0 ?? 0) + 1 } == 2)
    #expect(await codeThrown { _ = try await store.loadVersioned(String.self, for: "folder") } == .notAStore)
    // The newest value is committed once there is nothing in the way.
    try await store.save("v2", for: "folder")
    try clear("folder")
    #expect(await codeThrown { try await store.flush() } == .notAStore)
    #expect(try await other.load(String.self, for: "folder") == "v2")
    #expect(await store.discardPendingWrites() == ["shelf"])
    try await store.flush()
    #expect(store.pendingWrites.count == 0 && store.pendingWrites.bytes == 0 && store.pendingWrites.failure == nil)
    try await store.close()
  }

  @Test func aBatchStaysWholeAndItsKeysKeepTheirOrder() async throws {
    let (store, engine) = try await open()
    let other = TypedStore(engine: engine)
    try obstruct("folder")
    try await store.save(1, for: "free")
    try await store.saveAll([("folder", 1), ("with", 1)])
    try await store.save(2, for: "with", transaction: TransactionID())
    try await store.saveAll([("with", 3), ("also", 3)])
    try await store.save(4, for: "also")
    #expect(await codeThrown { try await store.flush() } == .notAStore)
    try await store.save(5, for: "also")
    try await store.save(5, for: "free")
    #expect(await codeThrown { try await store.flush() } == .notAStore)
    #expect(try await other.load(Int.self, for: "free") == 5)
    for key in ["with", "also"] as [StoreKey] { #expect(try await !other.exists(key), "\(key)") }
    #expect(try await store.load(Int.self, for: "with") == 3)
    #expect(store.pendingWrites.count == 3)
    let before = engine.latestRevision
    try clear("folder")
    try await store.flush()
    #expect(engine.latestRevision == before.next, "they are one commit")
    #expect(try await other.loadAll(Int.self, keys: ["folder", "with", "also"] as [StoreKey]) == [1, 3, 5])
    #expect(store.pendingWrites.count == 0 && store.pendingWrites.failure == nil)
    try await store.close()
  }

  @Test func theWindowCommitsTheOthersAndRepeatsTheRest() async throws {
    let (store, engine) = try await open()
    try obstruct("folder")
    let changes = engine.changes(since: nil)
    try await store.save(1, for: "folder")
    try await store.save(1, for: "free")
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(250))
    for await change in changes {
      guard case .commit(let commit) = change else { continue }
      #expect(commit.changed.keys == ["free"])
      break
    }
    await clock.waitForSleepers()
    #expect(store.pendingWrites.count == 1 && store.pendingWrites.failure?.key == "folder")
    try clear("folder")
    clock.advance(by: .seconds(1))
    try await waitUntil("the value is committed") { store.pendingWrites.count == 0 }
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "folder") == 1)
    try await store.close()
  }

  @Test func whatIsRefusedTakesNoRoomFromOthers() async throws {
    let (store, _) = try await open(limit: 100)
    let value = String(repeating: "x", count: 60)
    try obstruct("folder")
    try await store.save(value, for: "folder")
    for number in 0..<5 { try await store.save(value, for: StoreKey("k\(number)")) }
    try await store.save(String(repeating: "x", count: 500), for: "large")
    #expect(await codeThrown { try await store.save(value + value, for: "folder") } == .notAStore)
    #expect(store.pendingWrites.count == 1 && store.pendingWrites.failure?.key == "folder")
    #expect(await store.discardPendingWrites() == ["folder"])
    try await store.close()
  }

  /// Which of a batch is refused is not always known.
  @Test func aRefusalThatNamesNoKeyIsFound() async throws {
    let memory = MemoryEngine()
    let engine = FaultInjectingEngine(memory)
    let policy = WriteBackPolicy(scheduler: FlushScheduler(clock: clock))
    let store = TypedStore(engine: engine, writePolicy: .back(policy))
    engine.inject(.fail(StorageError(.unsupported, "Not this.")), into: .commit, times: 4)
    for number in 0..<8 { try await store.save(number, for: StoreKey("k\(number)")) }
    // All, the first half, the first quarter and the first value.
    #expect(await codeThrown { try await store.flush() } == .unsupported)
    #expect(try await memory.summaries().count == 7)
    #expect(store.pendingWrites.count == 1)
    #expect(try await store.load(Int.self, for: "k0") == 0)
    try await store.flush()
    #expect(try await memory.summaries().count == 8)
  }

  /// Whatever is refused and fails in between, keys keep their order, batches stay whole, and nothing is lost.
  @Test(arguments: [1, 2, 3, 4] as [UInt64], [true, false])
  func randomRefusals(_ seed: UInt64, namesKeys: Bool) async throws {
    var random = SeededGenerator(seed: seed)
    let engine = RefusingEngine(namesKeys: namesKeys)
    let policy = WriteBackPolicy(scheduler: FlushScheduler(clock: clock))
    let store = TypedStore(engine: engine, writePolicy: .back(policy))
    let keys = try (0..<8).map { try StoreKey("k\($0)") }
    var (latest, batches, flushes) = ([StoreKey: Int](), [[StoreKey]](), [Task<Void, any Error>]())
    for number in 0..<400 {
      let batch = Array(keys.shuffled(using: &random).prefix([1, 1, 1, 2, 3].randomElement(using: &random) ?? 1))
      batches.append(batch)
      let transaction = Int.random(in: 0..<6, using: &random) == 0 ? TransactionID() : nil
      try await store.saveAll(batch.map { ($0, number) }, transaction: transaction)
      for key in batch { latest[key] = number }
      switch Int.random(in: 0..<12, using: &random) {
      case 0: engine.refused.withLock { $0 = Set(keys.shuffled(using: &random).prefix(2)) }
      case 1: engine.refused.withLock { $0 = [] }
      case 2: engine.isBusy.withLock { $0.toggle() }
      case 3: flushes.append(Task { try await store.flush() })
      case 4: try? await store.flush()
      default: await Task.yield()
      }
      for key in keys { #expect(try await store.load(Int.self, for: key) == latest[key], "\(number)") }
    }
    engine.refused.withLock { $0 = [] }
    engine.isBusy.withLock { $0 = false }
    for flush in flushes { _ = await flush.result }
    try await store.flush()
    #expect(store.pendingWrites.count == 0 && store.pendingWrites.bytes == 0 && store.pendingWrites.failure == nil)
    for key in keys { #expect(try await TypedStore(engine: engine.base).load(Int.self, for: key) == latest[key]) }
    var (stored, newest) = ([StoreKey: Int](), -1)
    for (commit, wasRefused) in engine.committed.withLock({ $0.map { ($0.numbers, $0.wasRefused) } }) {
      let last = commit.values.max() ?? -1
      #expect(wasRefused || last > newest, "\(commit) was saved before \(newest), and committed after it")
      newest = max(newest, last)
      for (key, number) in commit { #expect(number > stored[key] ?? -1, "an older value of \(key) came later") }
      stored.merge(commit) { $1 }
      for number in Set(commit.values) {
        #expect(batches[number].allSatisfy { stored[$0] ?? -1 >= number }, "a part of batch \(number) was committed")
      }
    }
  }
}
