import CofferCore
import CofferEncryption
import CofferLocks
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite("Encrypted stores for code that cannot suspend") struct EncryptedSynchronousTests {
  private let base = MemoryEngine()

  @Test(arguments: [EncryptionSettings(), .hidden]) func submissionsKeepTheirOrder(_ settings: EncryptionSettings)
    async throws
  {
    let engine = try await base.encrypted(settings)
    try engine.requireSynchronousUse()
    let outcomes = Locked<[Result<StoreCommit, any Error>]>([])
    let origin = StoreOrigin()
    for number in 0..<40 {
      // A new ring makes the next submission fail at first, and a prefix has to be listed.
      if number == 20 { try await base.changeRing { try $0.addPrimary(now: Date()) } }
      let operations: [WriteBatch.Operation] =
        number % 8 == 7 ? [.clear(prefix: "key")] : [.put("key", Data("\(number)".utf8))]
      engine.submit(WriteBatch(operations, durability: .relaxed), from: origin) { outcome in
        outcomes.withLock { $0.append(outcome) }
      }
    }
    let deadline = ContinuousClock.now + .seconds(30)
    while outcomes.withLock({ $0.count }) < 40 {
      try #require(ContinuousClock.now < deadline)
      await Task.yield()
    }
    let commits = try outcomes.withLock { $0 }.map { try $0.get() }
    #expect(commits.map(\.revision) == commits.map(\.revision).sorted())
    for (number, commit) in commits.enumerated() {
      #expect(
        commit.changed == StoreSelection(keys: number % 8 == 7 ? [] : ["key"], prefixes: number % 8 == 7 ? ["key"] : [])
      )
    }
    #expect(try engine.entryNow("key") == nil)
  }

  /// An engine whose submissions wait until they are released, as those of a store that another process is writing.
  private final class HeldEngine: EngineDecorator, SynchronousEngine {
    private typealias Held = @Sendable () -> Void
    let base: any StorageEngine
    private let memory: MemoryEngine
    private let held = Locked<[Held]>([])

    init(_ memory: MemoryEngine) { (base, self.memory) = (memory, memory) }

    func entryNow(_ key: StoreKey) throws -> StoreEntry? { try memory.entryNow(key) }

    func submit(
      _ batch: WriteBatch, from origin: StoreOrigin,
      completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
    ) {
      held.withLock { $0.append { [memory] in memory.submit(batch, from: origin, completion: completion) } }
    }

    /// Performs what waits, in its order; returns the number of batches.
    @discardableResult
    func release(_ limit: Int = .max) -> Int {
      let ready = held.withLock { held in
        let ready = held.prefix(limit)
        held.removeFirst(ready.count)
        return ready
      }
      for submission in ready { submission() }
      return ready.count
    }
  }

  /// The outcomes of numbered submissions.
  private final class Outcomes: Sendable {
    private let outcomes = Locked<[Int: Result<StoreCommit, any Error>]>([:])

    func submit(_ number: Int, _ operations: [WriteBatch.Operation] = [], to engine: EncryptedEngine) {
      let batch = WriteBatch(operations + [.put("key", Data("\(number)".utf8))], durability: .relaxed)
      engine.submit(batch, from: StoreOrigin()) { [outcomes] result in outcomes.withLock { $0[number] = result } }
    }

    /// Returns the outcomes, in the order of the submissions, once there are `count`.
    func all(_ count: Int) async throws -> [Result<StoreCommit, any Error>] {
      let deadline = ContinuousClock.now + .seconds(300)
      while outcomes.withLock({ $0.count }) < count {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(1))
      }
      return outcomes.withLock { outcomes in (0..<count).compactMap { outcomes[$0] } }
    }
  }

  @Test(arguments: [EncryptionSettings(), .hidden])
  func aSubmissionUnderANewRingFollowsThoseUnderTheOld(_ settings: EncryptionSettings) async throws {
    let held = HeldEngine(base)
    let engine = try await held.encrypted(settings)
    let outcomes = Outcomes()
    for number in 0..<3 { outcomes.submit(number, to: engine) }
    try await changeRing(knownTo: engine)
    outcomes.submit(3, to: engine)
    held.release(1)
    outcomes.submit(4, to: engine)
    held.release()
    let commits = try await outcomes.all(5).map { try $0.get().revision }
    #expect(commits == commits.sorted())
    #expect(try await engine.text("key") == "4")
    try await engine.flush()  // Nothing waits any more, so that the next one goes directly.
    outcomes.submit(5, to: engine)
    #expect(held.release() == 1)
    #expect(try await outcomes.all(6).last?.get().revision == engine.latestRevision)
  }

  /// Replaces the key of the store, and lets an engine notice it.
  private func changeRing(knownTo engine: EncryptedEngine) async throws {
    try await base.changeRing { try $0.addPrimary(now: Date()) }
    try await base.encrypted().put("other", "1")
    #expect(try await engine.text("other") == "1")
  }

  @Test(arguments: [EncryptionSettings(), .hidden])
  func aCommitFollowsWhatWasSubmittedBefore(_ settings: EncryptionSettings) async throws {
    let held = HeldEngine(base)
    let engine = try await held.encrypted(settings)
    let outcomes = Outcomes()
    outcomes.submit(0, to: engine)
    try await changeRing(knownTo: engine)
    let (later, cancelled) = (
      Task { try await engine.put("key", "later") }, Task { try await engine.put("key", "cancelled") }
    )
    // The order in which these run is not known, and nothing is committed in either.
    for _ in 0..<1_000 { await Task.yield() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(held.release() == 1)
    let (first, second) = (try await outcomes.all(1)[0].get(), try await later.value)
    #expect(first.revision < second.revision)
    #expect(try await engine.text("key") == "later")
  }

  @Test(arguments: [BaseStore.memory, .sqlite, .file], [EncryptionSettings(), .hidden])
  func commitsFlushingAndClosingFollowSubmissions(_ kind: BaseStore, _ settings: EncryptionSettings) async throws {
    let directory = try TemporaryDirectory()
    let store = try await kind.open(in: directory.url)
    let engine = try await store.encrypted(settings)
    let other = kind == .memory ? store : try await kind.open(in: directory.url)
    let outcomes = Outcomes()
    let rounds = 12
    for number in 0..<rounds {
      try await other.changeRing { try $0.addPrimary(now: Date()) }
      outcomes.submit(number, to: engine)
      switch number {
      case rounds - 1: try await engine.close()
      case _ where number.isMultiple(of: 2):
        try await engine.put("key", "later")
        #expect(try await engine.text("key") == "later", "round \(number)")
      default:
        try await engine.flush()
        #expect(try await engine.text("key") == "\(number)")
      }
    }
    _ = try await outcomes.all(rounds).map { try $0.get() }
    if kind != .memory {
      #expect(try await other.encrypted(settings).text("key") == "\(rounds - 1)")
      try await other.close()
    }
  }

  @Test func aSubmissionThatWasRefusedForItselfIsNotRepeated() async throws {
    let held = HeldEngine(base)
    let engine = try await held.encrypted()
    let outcomes = Outcomes()
    outcomes.submit(0, [.require("absent", StoreRevision(1))], to: engine)
    outcomes.submit(1, to: engine)
    outcomes.submit(2, [.require("absent", StoreRevision(1))], to: engine)
    held.release(2)
    try await base.changeRing { try $0.addPrimary(now: Date()) }
    held.release()
    let all = try await outcomes.all(3)
    for number in [0, 2] {
      let error = try storageError { _ = try all[number].get() }
      #expect(error.code == .preconditionFailed && error.key == "absent")
    }
    #expect(try await engine.text("key") == "1")
  }

  /// Another engine rotates the store's keys meanwhile, again and again.
  @Test(arguments: [BaseStore.memory, .sqlite, .file], [EncryptionSettings(), .hidden])
  func submissionsDuringRotationsKeepTheirOrder(_ kind: BaseStore, _ settings: EncryptionSettings) async throws {
    let directory = try TemporaryDirectory()
    let store = try await kind.open(in: directory.url)
    let engine = try await store.encrypted(settings)
    let other = try await (kind == .memory ? store : kind.open(in: directory.url)).encrypted(settings)
    let (count, outcomes) = (kind == .file ? 60 : 300, Outcomes())
    let isDone = Locked(false)
    let rotations = Task { while !isDone.withLock({ $0 }) { _ = try await other.rotate().result() } }
    for number in 0..<count {
      outcomes.submit(number, to: engine)
      await Task.yield()
    }
    let revisions = try await outcomes.all(count).map { try $0.get().revision }
    isDone.withLock { $0 = true }
    try await rotations.value
    #expect(revisions == revisions.sorted())
    #expect(try await engine.text("key") == "\(count - 1)")
    try await engine.close()
    try await other.close()
  }

  @Test func readsThatNeedANewerRingAreBusyAtFirst() async throws {
    let engine = try await base.encrypted(.hidden)
    let other = try await base.encrypted(.hidden)
    try await base.changeRing { try $0.addPrimary(now: Date()) }
    try await other.put("key", "1")
    var outcomes: [StorageError.Code] = []
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      do {
        #expect(try engine.entryNow("key")?.value == Data("1".utf8))
        break
      } catch let error as StorageError {
        outcomes.append(error.code)
        await Task.yield()
      }
    }
    #expect(try engine.entryNow("key") != nil)
    #expect(Set(outcomes).isSubset(of: [.busy]))
  }

  @Test func aBaseThatSuspendsIsNotUsed() async throws {
    let engine = try await FaultInjectingEngine(base).encrypted()
    #expect(throws: StorageError.self) { try engine.requireSynchronousUse() }
    #expect(throws: StorageError.self) { try engine.entryNow("key") }
  }

  /// A read takes two steps while names are being hidden.
  @Test func aValueThatIsMovedBetweenTwoReadsIsNotAbsent() async throws {
    let other = try await base.encrypted(.hidden, acceptsUnfinished: true)
    try await base.changeRing { $0.phase = .encrypting }
    let interrupted = InterruptedEngine(base)
    let engine = try await interrupted.encrypted(.hidden, acceptsUnfinished: true)
    _ = try await other.entry("any")  // The ring is read again.
    for number in 0..<2 {
      let key = StoreKey.known("key \(number)")
      try await base.put(key, "in plain")
      let isMoved = Locked(false)
      interrupted.afterRead.withLock {
        $0 = {
          other.submit(WriteBatch([.put(key, Data("moved".utf8))]), from: StoreOrigin()) { outcome in
            isMoved.withLock { $0 = (try? outcome.get()) != nil }
          }
        }
      }
      if number == 0 {
        #expect(try engine.entryNow(key) != nil)
      } else {
        #expect(try await engine.summary(of: key) != nil)
      }
      #expect(isMoved.withLock { $0 })
      #expect(try await base.entry(key) == nil)
    }
  }
}

/// Calls a closure once, after the next read of one key.
private final class InterruptedEngine: EngineDecorator, SynchronousEngine {
  let base: any StorageEngine
  let afterRead = Locked<(@Sendable () -> Void)?>(nil)
  private let engine: MemoryEngine

  init(_ engine: MemoryEngine) { (base, self.engine) = (engine, engine) }

  func requireSynchronousUse() throws { try engine.requireSynchronousUse() }

  func entryNow(_ key: StoreKey) throws -> StoreEntry? {
    defer { interrupt() }
    return try engine.entryNow(key)
  }

  func summary(of key: StoreKey) async throws -> StoreEntrySummary? {
    defer { interrupt() }
    return try await engine.summary(of: key)
  }

  func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) { engine.submit(batch, from: origin, completion: completion) }

  private func interrupt() {
    let body = afterRead.withLock { body in
      defer { body = nil }
      return body
    }
    body?()
  }
}
