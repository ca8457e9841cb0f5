import CofferCallbacks
import CofferCore
import CofferPersistence
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import CofferVault
import Foundation
import Testing

/// Blocks over several keys, batches of mixed types, and writes that depend on a revision.
@Suite(.serialized) struct TransactionTests {
  private struct Failure: Error {}

  // Requirement 1.37
  @Test func readsSeeOwnWritesOfAnyTypeAndOthersSeeThemAtTheEnd() async throws {
    let store = TypedStore(engine: MemoryEngine())
    try await store.save(1, for: "number")
    try await store.save("gone", for: "old")
    let result = try await store.transaction { transaction in
      let number = try await transaction.load(Int.self, for: "number") ?? 0
      try transaction.save(number + 1, for: "number")
      try transaction.save("Ann", for: "name")
      try transaction.delete("old")
      #expect(try await transaction.load(Int.self, for: "number") == 2)
      #expect(try await transaction.load(String.self, for: "name") == "Ann")
      #expect(try await !transaction.exists("old"))
      #expect(try await store.load(Int.self, for: "number") == 1)
      #expect(try await store.exists("old"))
      return number
    }
    #expect(result == 1)
    #expect(try await store.load(Int.self, for: "number") == 2)
    #expect(try await store.load(String.self, for: "name") == "Ann")
    #expect(try await !store.exists("old"))
  }

  @Test func oneCommitCarriesEverything() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let before = store.engine.latestRevision
    try await store.transaction { transaction in
      try transaction.save(1, for: "a")
      try transaction.save("x", for: "b")
    }
    #expect(store.engine.recentCommits(after: before)?.count == 1)
    _ = try await store.transaction { try await $0.load(Int.self, for: "a") }  // A transaction that only reads.
    #expect(store.engine.recentCommits(after: before)?.count == 1)
  }

  // Requirement 5.3
  @Test func nothingIsWrittenWhenTheClosureThrowsOrTheTaskIsCancelled() async throws {
    let store = TypedStore(engine: MemoryEngine())
    await #expect(throws: Failure.self) {
      try await store.transaction { transaction in
        try transaction.save(1, for: "a")
        throw Failure()
      }
    }
    let begun = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await store.transaction { transaction in
        try transaction.save(1, for: "a")
        begun.continuation.yield()
        try? await hang()
      }
    }
    for await _ in begun.stream { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await !store.exists("a"))
  }

  // Requirement 1.37
  @Test func aConflictRunsItAgainWithTheNewValue() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let other = TypedStore(engine: store.engine)
    let runs = Locked(0)
    try await store.transaction { transaction in
      let value = try await transaction.load(Int.self, for: "n") ?? 0
      // An absent value that appears, and a present one that changes, are conflicts.
      if runs.withLock({
        $0 += 1
        return $0
      }) < 3 {
        try await other.save(value + 10, for: "n")
      }
      try transaction.save(value + 1, for: "n")
    }
    #expect(runs.withLock { $0 } == 3)
    #expect(try await store.load(Int.self, for: "n") == 21)
  }

  @Test func aWriteToAnotherKeyIsNoConflict() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let runs = Locked(0)
    try await store.transaction { transaction in
      runs.withLock { $0 += 1 }
      _ = try await transaction.load(Int.self, for: "read")
      try await store.save(1, for: "written blindly")
      try transaction.save(2, for: "written blindly")
    }
    #expect(runs.withLock { $0 } == 1)
    #expect(try await store.load(Int.self, for: "written blindly") == 2)
  }

  // Requirement 5.3
  @Test func theTimeIsLimited() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let error = await #expect(throws: StorageError.self) {
      try await store.transaction(within: .milliseconds(50)) { transaction in
        let value = try await transaction.load(Int.self, for: "n") ?? 0
        try await store.save(value + 1, for: "n")  // Each attempt disturbs itself.
        try transaction.save(-1, for: "n")
      }
    }
    #expect(error?.code == .busy && error?.message.contains("times") == true, "\(String(describing: error))")
    let stuck = await #expect(throws: StorageError.self) {
      try await store.transaction(within: .milliseconds(1)) { _ in try await hang() }
    }
    #expect(stuck?.code == .busy)
    #expect(try await store.load(Int.self, for: "n") != -1)
  }

  // Requirement 5.3
  @Test(.timeLimit(.minutes(1))) func aNestedTransactionDoesNotWaitForTheTurnOfTheOuterOne() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let other = TypedStore(engine: store.engine)
    let (outer, inner) = (Locked(0), Locked(0))
    // The first attempt of each conflicts, so both are repeated.
    let disturb: @Sendable (KeyName, Locked<Int>) async throws -> Void = { key, attempts in
      attempts.withLock { $0 += 1 }
      if attempts.withLock({ $0 }) == 1 { try await other.save(1, for: key) }
    }
    try await store.transaction(within: nil) { transaction in
      _ = try await transaction.load(Int.self, for: "outer")
      try await disturb("outer", outer)
      try transaction.save(1, for: "outer is done")
      guard outer.withLock({ $0 }) == 2 else { return }
      try await store.transaction(within: nil) { nested in
        _ = try await nested.load(Int.self, for: "inner")
        try await disturb("inner", inner)
        try nested.save(1, for: "inner is done")
      }
    }
    #expect(outer.withLock { $0 } == 2 && inner.withLock { $0 } == 2)
    #expect(try await store.loadAll(Int.self, keys: ["outer is done", "inner is done"]) == [1, 1])
  }

  @Test func itEndsWithItsClosure() async throws {
    let store = TypedStore(engine: MemoryEngine())
    let kept = try await store.transaction { $0 }
    let error = #expect(throws: StorageError.self) { try kept.save(1, for: "a") }
    #expect(error?.code == .closed)
    await #expect(throws: StorageError.self) { try await kept.load(Int.self, for: "a") }
  }

  // Requirement 5.4
  @Test func anAdapterOfFourMethodsRefuses() async throws {
    let store = TypedStore(engine: AdapterEngine(MemoryAdapter()))
    func refuses(_ body: () async throws -> Void) async {
      let error = await #expect(throws: StorageError.self) { try await body() }
      #expect(error?.code == .unsupported)
    }
    await refuses { try await store.transaction { try $0.save(1, for: "a") } }
    await refuses { _ = try await store.loadVersioned(Int.self, for: "a") }
    await refuses { try await store.saveIfUnchanged(1, for: "a", since: nil) }
    await refuses {
      try await store.batch {
        try $0.save(1, for: "a")
        try $0.save(2, for: "b")
      }
    }
    #expect(try await !store.exists("a"))
    try await store.batch { try $0.save(1, for: "a") }  // One change needs no atomicity.
    #expect(try await store.load(Int.self, for: "a") == 1)
  }

  @Test func aBatchOfMixedTypesIsOneCommitOrNone() async throws {
    struct Unwritable: Encodable { func encode(to encoder: any Encoder) throws { throw Failure() } }
    let store = TypedStore(engine: MemoryEngine())
    let before = store.engine.latestRevision
    try await store.save("x", for: "nickname")
    try await store.batch { batch in
      try batch.save("Ann", for: "name")
      try batch.save(31, for: "age")
      batch.delete("nickname")
    }
    #expect(store.engine.recentCommits(after: before)?.count == 2)
    #expect(try await store.load(Int.self, for: "age") == 31)
    #expect(try await !store.exists("nickname"))
    await #expect(throws: StorageError.self) {
      try await store.batch { batch in
        try batch.save(32, for: "age")
        try batch.save(Unwritable(), for: "name")
      }
    }
    #expect(try await store.load(Int.self, for: "age") == 31)
  }

  // Requirement 5.4
  @Test func onlyAnUnchangedValueIsReplaced() async throws {
    let engine = MemoryEngine()
    let store = TypedStore(engine: engine)
    let absent = try await store.loadVersioned(String.self, for: "page")
    #expect(absent == Versioned(nil, revision: nil))
    let first = try await store.saveIfUnchanged("one", for: "page", since: absent.revision)
    let read = try await store.loadVersioned(String.self, for: "page")
    #expect(read == Versioned("one", revision: first))
    try await store.save("by another", for: "page")
    for revision in [read.revision, nil] {
      let error = await #expect(throws: StorageError.self) {
        try await store.saveIfUnchanged("two", for: "page", since: revision)
      }
      #expect(error?.code == .preconditionFailed && error?.key == "page")
      await #expect(throws: StorageError.self) { try await store.deleteIfUnchanged("page", since: revision) }
    }
    #expect(try await store.load(String.self, for: "page") == "by another")
    let again = try await store.loadVersioned(String.self, for: "page")
    try await store.deleteIfUnchanged("page", since: again.revision)
    #expect(try await !store.exists("page"))
  }

  // Requirement 5.4
  @Test func everyDoorHasIt() async throws {
    let engine = MemoryEngine()
    let vault = EngineVaultService(engine: engine, keyPrefix: "vault/")
    let data = try await vault.loadVersionedData(forKey: "a")
    try await vault.saveDataIfUnchanged(Data([1]), forKey: "a", since: data.revision, transactionID: UUID())
    let vaultError = await #expect(throws: SwiftVaultError.self) {
      try await vault.saveDataIfUnchanged(Data([2]), forKey: "a", since: data.revision, transactionID: UUID())
    }
    guard case .writeFailed("a", let cause as StorageError)? = vaultError else {
      Issue.record("\(String(describing: vaultError))")
      return
    }
    #expect(cause.code == .preconditionFailed)

    let persistence = AdapterBasedPersistence(adapter: MemoryAdapter(engine: engine))
    let value = try await persistence.store.loadVersioned([Int].self, for: "list")
    try await persistence.store.saveIfUnchanged([1], for: "list", since: value.revision)
    await #expect(throws: StorageError.self) {
      try await persistence.store.saveIfUnchanged([2], for: "list", since: value.revision)
    }
    #expect(try await persistence.load([Int].self, for: "list") == [1])

    let storage = EngineKeyValueStorage(engine: engine)
    let read: Versioned<Bytes> = try await withCheckedThrowingContinuation { continuation in
      storage.retrieveVersioned(for: "c") { value, error in
        continuation.resume(with: value.map { .success($0) } ?? .failure(error ?? Failure()))
      }
    }
    #expect(read.value == nil)
    for (index, isFirst) in [true, false].enumerated() {
      let error: (any Error)? = await withCheckedContinuation { continuation in
        storage.storeIfUnchanged(value: [UInt8(index)], for: "c", since: read.revision) { _, error in
          continuation.resume(returning: error)
        }
      }
      #expect((error as? StorageError)?.code == (isFirst ? nil : .preconditionFailed))
    }
    #expect(try await storage.retrieve(for: "c") == [0])
  }
}
