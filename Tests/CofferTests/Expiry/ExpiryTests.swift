import Coffer
import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct ExpiryTests {
  private let clock = SettableClock()

  // Requirement 5.1
  @Test func anExpiredValueIsAbsentFromEveryRead() async throws {
    let store = TypedStore(engine: MemoryEngine(clock: clock.storeClock))
    let key = KeyName("token")
    try await store.save(Note(title: "a"), for: key, expires: clock.now + 60)
    #expect(store.cached(Note.self, for: key) == Note(title: "a"))
    clock.advance(by: 59.999)
    #expect(try await store.load(Note.self, for: key) == Note(title: "a"))
    clock.advance(by: 0.001)
    #expect(store.cached(Note.self, for: key) == nil, "the cache must not outlive the value")
    #expect(try await store.load(Note.self, for: key) == nil)
    #expect(try await store.loadAll(Note.self, keys: [key]) == [nil])
    #expect(try await !store.exists(key))
    clock.advance(by: -1)
    #expect(try await store.load(Note.self, for: key) == Note(title: "a"), "it was not swept yet")
  }

  @Test(arguments: [(-Double.infinity, true), (.nan, true), (0, true), (.infinity, false), (1e300, false)])
  func anyDateIsAnExpiry(_ seconds: Double, isPast: Bool) async throws {
    let store = TypedStore(engine: MemoryEngine(clock: clock.storeClock))
    try await store.save("a", for: "token", expires: Date(timeIntervalSince1970: seconds))
    #expect((store.cached(String.self, for: "token") == nil) == isPast)
    #expect(try await (store.load(String.self, for: "token") == nil) == isPast)
    #expect(try await store.exists("token") == !isPast)
  }

  @Test func everyWayToWriteCanSetAnExpiry() async throws {
    let store = TypedStore(engine: MemoryEngine(clock: clock.storeClock))
    let end = clock.now + 60
    try await store.batch { try $0.save(1, for: "batch", expires: end) }
    try await store.transaction { try $0.save(1, for: "transaction", expires: end) }
    try await store.saveIfUnchanged(1, for: "revision", since: nil, expires: end)
    try await store.save(1, for: "kept")
    let keys: [KeyName] = ["batch", "transaction", "revision", "kept"]
    #expect(try await store.loadAll(Int.self, keys: keys) == [1, 1, 1, 1])
    clock.advance(by: 60)
    #expect(try await store.loadAll(Int.self, keys: keys) == [nil, nil, nil, 1])
  }

  @Test func aValueReadByAnotherStoreIsCachedWithItsExpiry() async throws {
    let engine = MemoryEngine(clock: clock.storeClock)
    let key = KeyName("token")
    try await TypedStore(engine: engine).save(Note(title: "a"), for: key, expires: clock.now + 60)
    let store = TypedStore(engine: engine, cache: CachePolicy(maximumCount: 4))
    _ = try await store.load(Note.self, for: key)
    for number in 0..<5 { try await store.save(number, for: KeyName("other/\(number)")) }
    _ = try await store.loadAll(Note.self, keys: [key])
    #expect(store.cached(Note.self, for: key) != nil)
    clock.advance(by: 60)
    #expect(store.cached(Note.self, for: key) == nil)
  }

  @Test func anUpdateStartsFromNothingAndOtherwiseKeepsTheExpiry() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.clock = clock.storeClock
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    let store = TypedStore(engine: engine)
    let key = KeyName("visits")
    try await store.save(7, for: key, expires: clock.now + 60)
    #expect(try await store.update(key, default: 0) { $0 += 1 } == 8)
    #expect(try await engine.entry(key)?.attributes.expires == clock.now + 60)
    clock.advance(by: 60)
    #expect(try await store.update(key, default: 0) { $0 += 1 } == 1)
    #expect(try await engine.entry(key)?.attributes.expires == nil)
    try await engine.close()
  }

  // Requirement 5.1
  @Test(.timeLimit(.minutes(1))) func aStreamDeliversTheExpiryOfAValueThatIsCachedAsItIsRead() async throws {
    let engine = EngineWithHook(MemoryEngine(clock: clock.storeClock))
    let key = KeyName("token")
    try await TypedStore(engine: engine).save("a", for: key, expires: clock.now + 60)
    let store = TypedStore(engine: engine)
    var values = store.values(of: key, as: String.self).makeAsyncIterator()
    engine.beforeNextRevision {
      // Another task caches the value between two steps of the stream.
      let isCached = DispatchSemaphore(value: 0)
      Task.detached {
        _ = try await store.load(String.self, for: key)
        isCached.signal()
      }
      _ = isCached.wait(timeout: .now() + 20)
    }
    #expect(try await values.next()?.get() == "a")
    clock.advance(by: 60)
    #expect(try await values.next()?.get() == .some(nil))
  }

  /// An engine that runs a closure before it returns its latest revision, once.
  private final class EngineWithHook: EngineDecorator {
    let base: any StorageEngine
    private let hook = Locked<(@Sendable () -> Void)?>(nil)

    init(_ base: any StorageEngine) { self.base = base }

    func beforeNextRevision(_ hook: @escaping @Sendable () -> Void) { self.hook.withLock { $0 = hook } }

    var latestRevision: StoreRevision {
      let hook = hook.withLock { hook in
        defer { hook = nil }
        return hook
      }
      hook?()
      return base.latestRevision
    }
  }

  /// Timers of cancelled waits would accumulate until a distant expiry, one for each change of a key.
  @Test(.timeLimit(.minutes(1))) func aWaitForADistantExpiryEndsEarlyAndIsRepeated() async throws {
    try await StoreClock.system.sleep(.distantFuture)
    try await StoreClock.system.sleep(Date(timeIntervalSince1970: .nan))
    let wait = Task { try await StoreClock.system.sleep(.distantFuture) }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
  }

  // Requirement 5.1
  @Test(.timeLimit(.minutes(1))) func aStreamDeliversTheExpiry() async throws {
    let store = TypedStore(engine: MemoryEngine(clock: clock.storeClock))
    let key = KeyName("token")
    try await store.save("a", for: key, expires: clock.now + 60)
    var values = store.values(of: key, as: String.self).makeAsyncIterator()
    #expect(try await values.next()?.get() == .some("a"))
    let (clock, base) = (clock, clock.now)
    let jumps = Task {
      await clock.waitForSleepers()
      clock.set(base - 3_600)
      clock.set(base + 60)
    }
    #expect(try await values.next()?.get() == .some(nil))
    await jumps.value
    // The request for a change that was pending during the expiry serves the next value.
    try await store.save("b", for: key, expires: clock.now + 60)
    #expect(try await values.next()?.get() == .some("b"))
    let save = Task {
      await clock.waitForSleepers()
      try await store.save("c", for: key)
    }
    #expect(try await values.next()?.get() == .some("c"))
    try await save.value
    let ending = Task {
      var values = store.values(of: key, as: String.self).makeAsyncIterator()
      _ = await values.next()
      return await values.next()
    }
    ending.cancel()
    #expect(await ending.value == nil)
  }

  @Test func enginesWithoutAttributesRefuse() async throws {
    let store = TypedStore(engine: AdapterEngine(MemoryAdapter()))
    await expectStorageError(.unsupported) { try await store.save("a", for: "k", expires: .now + 60) }
    #expect(try await store.load(String.self, for: "k") == nil)
  }
}
