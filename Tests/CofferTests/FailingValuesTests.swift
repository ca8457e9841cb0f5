import CofferCore
import CofferPersistence
import CofferTesting
import CofferVault
import Foundation
import Testing

/// Streams of values that continue after a failed read.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FailingValuesTests {
  private let memory = MemoryEngine()
  private let locked = StorageError(.unavailable, "It is locked.")

  private func code<T>(_ result: Result<T, StorageError>?) -> StorageError.Code? {
    if case .failure(let error)? = result { error.code } else { nil }
  }

  // Requirement 5.11
  @Test("A value that cannot be decoded is delivered as a failure, and the next good one follows")
  func undecodable() async throws {
    let store = TypedStore(engine: memory)
    var values = store.values(of: KeyName("a"), as: Int.self).makeAsyncIterator()
    #expect(try await values.next()?.get() == .some(nil))
    try await store.save("text", for: "a")
    #expect(code(await values.next()) == .decodingFailed)
    try await store.save("other text", for: "a")
    #expect(code(await values.next()) == .decodingFailed)
    try await store.save("unrelated", for: "b")
    try await store.save(3, for: "a")
    #expect(try await values.next()?.get() == 3)
    try await store.save(4, for: "a")
    #expect(try await values.next()?.get() == 4)
    try await memory.close()
    #expect(await values.next().map { _ in } == nil)
  }

  // Requirement 5.11
  @Test("A failed read is repeated, and a failure that persists is delivered once")
  func repeated() async throws {
    let engine = FaultInjectingEngine(memory)
    let store = TypedStore(engine: engine, cache: CachePolicy(maximumCount: 0))
    try await store.save(1, for: "a")
    engine.inject(.fail(locked), into: .snapshot, times: 2)
    var values = store.values(of: KeyName("a"), as: Int.self).makeAsyncIterator()
    #expect(code(await values.next()) == .unavailable)
    #expect(try await values.next()?.get() == 1)
    #expect(engine.count(of: .snapshot) == 3)
  }

  @Test("A change during an outage is read at once, without waiting for the next attempt")
  func changed() async throws {
    let engine = FaultInjectingEngine(memory)
    let store = TypedStore(engine: engine, cache: CachePolicy(maximumCount: 0))
    engine.inject(.fail(StorageError(.damaged, "The bytes differ.", key: "a")), into: .snapshot)
    var values = store.values(of: KeyName("a"), as: Int.self).makeAsyncIterator()
    #expect(code(await values.next()) == .damaged)
    try await store.save(2, for: "a")
    #expect(try await values.next()?.get() == 2)
  }

  // Requirement 5.10
  @Test("A store that can be opened later tells why it cannot, and misses nothing; every consumer receives it")
  func reopening() async throws {
    let (memory, isOpen) = (memory, Locked(false))
    let engine = RetryingEngine(
      locked, description: "memory", capabilities: memory.capabilities, interval: .milliseconds(5)
    ) { [locked] in
      guard isOpen.withLock({ $0 }) else { throw locked }
      return memory
    }
    let persistence = AdapterBasedPersistence(engine: engine)
    let vault = SwiftVault.service(over: engine)
    guard case .unavailable("It is locked.") = await persistence.currentAvailability,
      case .unavailable("It is locked.") = await vault.currentAvailability
    else { throw StorageError(.inputOutput, "The store is not unavailable.") }
    #expect(await !persistence.isAvailable)
    let store = persistence.store
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 {
        var states = [persistence.availability(), vault.availability()].map { $0.makeAsyncIterator() }
        #expect(await states[0].next()?.isUsable == false)
        #expect(await states[1].next()?.isUsable == false)
        var values = store.values(of: KeyName("a"), as: Int.self).makeAsyncIterator()
        #expect(code(await values.next()) == .unavailable)
        group.addTask { [states, values] in
          var (states, values) = (states, values)
          #expect(await states[0].next() == .available)
          #expect(await states[1].next() == .available)
          while try await values.next()?.get() != 2 {}
        }
      }
      isOpen.withLock { $0 = true }
      try await store.save(1, for: "a")
      try await store.save(2, for: "a")
      try await group.waitForAll()
    }
    #expect(await persistence.isAvailable)
    #expect(await vault.currentAvailability == .available)
  }

  @Test("Cancelling ends a stream that waits for its store")
  func cancelled() async throws {
    let engine = FaultInjectingEngine(memory)
    engine.inject(.fail(locked), into: .snapshot, times: nil)
    let store = TypedStore(engine: engine)
    let (told, teller) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      for await _ in store.values(of: KeyName("a"), as: Int.self) { teller.yield() }
    }
    _ = await told.first { true }
    task.cancel()
    await task.value
  }
}
