import CofferCallbacks
import CofferTesting
import CofferVault
import Foundation
import Testing

private let refused = StorageError(.permissionDenied, "Access refused.")

@Suite(.timeLimit(.minutes(10))) struct CallbackAsyncTests {
  @Test func everyStorageHasAsyncCalls() async throws {
    let storages: [any KeyValueStorage] = [EngineKeyValueStorage(engine: MemoryEngine()), PlainStorage()]
    for storage in storages {
      await #expect(throws: (any Error).self) { try await storage.retrieve(for: "a") }
      try await storage.store([1, 2], for: "a")
      #expect(try await storage.retrieve(for: "a") == [1, 2])
      try await storage.remove(for: "a")
      await #expect(throws: (any Error).self) { try await storage.retrieve(for: "a") }
    }
    #expect(await codeThrown { _ = try await storages[0].retrieve(for: "a") } == .notFound)
    await #expect(throws: PlainStorage.NoSuchValue.self) { try await storages[1].remove(for: "a") }
  }

  @Test func anErrorIsThrownAsItIs() async {
    let storage = UnrulyStorage { [(nil, refused)] }
    #expect(await codeThrown { try await storage.store([], for: "a") } == .permissionDenied)
    #expect(await codeThrown { _ = try await storage.retrieve(for: "a") } == .permissionDenied)
    #expect(await codeThrown { try await storage.remove(for: "a") } == .permissionDenied)
  }

  @Test func onlyTheFirstAnswerCounts() async throws {
    let storage = UnrulyStorage { [([1], nil), ([2], nil), (nil, refused)] }
    try await storage.store([], for: "a")
    #expect(try await storage.retrieve(for: "a") == [1])
    try await storage.remove(for: "a")
  }

  @Test func aContradictionIsAnError() async throws {
    for (answer, word) in [((nil, nil), "neither"), (([1], refused), "both")] as [(UnrulyStorage.Answer, String)] {
      let storage = UnrulyStorage { answer.error == nil ? [(nil, nil)] : [([1], refused)] }
      let error = try #require(await #expect(throws: StorageError.self) { try await storage.retrieve(for: "a") })
      #expect(error.code == .inputOutput)
      #expect(error.message.contains(word))
      #expect(error.key == KeyName("a"))
      #expect(error.location == "callbacks:UnrulyStorage")
      #expect(error.underlying.map { $0.text.contains("Access refused.") } == (word == "both" ? true : nil))
    }
  }

  @Test func aCompletionThatIsLetGoIsAnError() async {
    let storage = UnrulyStorage { [] }
    #expect(await codeThrown { try await storage.store([], for: "a") } == .outcomeUnknown)
    #expect(await codeThrown { _ = try await storage.retrieve(for: "a") } == .inputOutput)
    #expect(await codeThrown { try await storage.remove(for: "a") } == .outcomeUnknown)
  }

  @Test func aCancelledTaskStartsNothing() async {
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      let storage = UnrulyStorage {
        Issue.record("the storage was called")
        return [(nil, nil)]
      }
      try await storage.store([], for: "a")
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// A storage that is not `Sendable` can be used from the main actor, and stays there.
  @MainActor @Test func aStorageOfTheMainActorStaysThere() async throws {
    let storage = PlainStorage()
    try await storage.store([1], for: "a")
    #expect(try await storage.retrieve(for: "a") == [1])
  }
}

@Suite(.timeLimit(.minutes(15))) struct CallbackAdapterTests {
  static let conformance = StorageConformance(name: "callbacks") { _ in
    KeyValueStorageAdapter(EngineKeyValueStorage(engine: MemoryEngine()))
  }

  @Test(arguments: StorageConformance.checks)
  func conforms(_ check: StorageConformance.Check) async throws { try await Self.conformance.run(check) }

  @Test func typedValuesWorkOverSomebodysStorage() async throws {
    let adapter = KeyValueStorageAdapter(PlainStorage()) { $0 is PlainStorage.NoSuchValue }
    let engine = AdapterEngine(adapter)
    let store = TypedStore(engine: engine)
    #expect(try await store.load(Note.self, for: "note") == nil)
    try await store.save(Note(title: "A", count: 1), for: "note")
    #expect(try await store.load(Note.self, for: "note") == Note(title: "A", count: 1))
    let vault = SwiftVault.service(over: engine)
    #expect(await vault.exists(forKey: "note"))
    try await vault.remove(forKey: "note")
    try await vault.remove(forKey: "note")  // the storage reports an error that means "missing"
    #expect(await !vault.exists(forKey: "note"))
  }

  @Test func anUnknownErrorIsNeverAbsent() async throws {
    let adapter = KeyValueStorageAdapter(PlainStorage())  // without a rule for which error means "missing"
    await #expect(throws: PlainStorage.NoSuchValue.self) { try await adapter.read(key: "a") }
    await #expect(throws: PlainStorage.NoSuchValue.self) { try await adapter.delete(key: "a") }
    #expect(await adapter.exists(key: "a"))
    #expect(await !adapter.exists(key: ""))
    let store = TypedStore(engine: AdapterEngine(adapter))
    #expect(await codeThrown { _ = try await store.load(Note.self, for: "a") } == .inputOutput)
  }

  @Test func notFoundMeansMissingOnlyForAKey() async throws {
    let key = KeyName("a")
    let missing = KeyValueStorageAdapter(UnrulyStorage { [(nil, StorageError(.notFound, "No value.", key: key))] })
    #expect(try await missing.read(key: "a") == nil)
    #expect(await !missing.exists(key: "a"))
    try await missing.delete(key: "a")
    let lost = KeyValueStorageAdapter(UnrulyStorage { [(nil, StorageError(.notFound, "No store."))] })
    #expect(await codeThrown { _ = try await lost.read(key: "a") } == .notFound)
    #expect(await lost.exists(key: "a"))
  }

  @Test func aClosedEngineBelowIsAnError() async throws {
    let engine = MemoryEngine()
    let adapter = KeyValueStorageAdapter(EngineKeyValueStorage(engine: engine))
    try await engine.close()
    #expect(await codeThrown { _ = try await adapter.read(key: "a") } == .closed)
    #expect(await codeThrown { try await adapter.write(key: "a", data: Data()) } == .closed)
    #expect(await adapter.exists(key: "a"))
  }
}
