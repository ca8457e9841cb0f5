import CofferCore
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Settings without `await`, and the assignments of processes that end right afterwards.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct SettingsTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private func key(_ name: String = "k", in domain: StorageDomain? = nil) -> SettingKey<Int> {
    SettingKey(
      name, in: domain ?? .database(URL(fileURLWithPath: fixture.path("own.db"))), owner: "Tests", about: "A number.",
      default: 0)
  }

  // Requirement 5.12
  @Test("A setting has its default, the assigned value, and its default again; others read it once it is assigned")
  func roundTrip() async throws {
    let key = key()
    try await fixture.use { router in
      let settings = try await router.settings(key)
      #expect(settings[key] == 0)
      #expect(try !settings.isStored(key))
      settings[key] = 5
      settings[key] += 1
      #expect(settings[key] == 6)
      #expect(try settings.isStored(key))
      #expect(try await router.get(key) == 6)
      try await router.set(8, for: key)
      #expect(try settings.get(key) == 8)
      settings.remove(key)
      #expect(settings[key] == 0)
      #expect(try await !router.exists(key))
      try await settings.flush()
    }
  }

  // Requirement 5.12
  @Test("A read returns what another process has committed before")
  func otherProcesses() async throws {
    let key = key()
    try await fixture.use { router in
      let settings = try await router.settings(key)
      #expect(settings[key] == 0)
      let helper = try HelperProcess(["assign", fixture.path("own.db"), "settings", "_exit"])
      helper.wait()
      #expect(settings[key] == 7)
    }
  }

  // Requirement 5.13
  @Test(
    "An assignment survives a process that ends right after it",
    arguments: ["settings", "stored"], ["exit", "_exit", "kill"])
  func endings(_ door: String, _ ending: String) async throws {
    let helper = try HelperProcess(["assign", fixture.path("own.db"), door, ending])
    #expect(try helper.lines() == [])
    #expect(helper.wait() == (ending == "kill" ? SIGKILL : 0))
    let stored = try await fixture.use { try await $0.get(key()) }
    #expect(stored == 7)
  }

  @Test("Threads write at once, and the last value of each key is stored")
  func threads() async throws {
    let keys = (key("a"), key("b"))
    try await fixture.use { router in
      let settings = try await router.settings(keys.0, keys.1)
      DispatchQueue.concurrentPerform(iterations: 8) { index in
        for number in 1...50 { settings[index.isMultiple(of: 2) ? keys.0 : keys.1] = number }
      }
      try await settings.flush()
      #expect(try await router.get(keys.0) == settings[keys.0])
      #expect(try await router.get(keys.1) == settings[keys.1])
      #expect(settings[keys.0] == 50 && settings[keys.1] == 50)
    }
  }

  /// A memory during whose synchronous reads somebody writes.
  private final class InterruptedEngine: EngineDecorator, SynchronousEngine {
    let memory = MemoryEngine()
    let interruptions = Locked<[@Sendable () -> Void]>([])
    var base: any StorageEngine { memory }

    func entryNow(_ key: KeyName) throws -> StoreEntry? {
      let entry = try memory.entryNow(key)
      interruptions.withLock { $0.isEmpty ? nil : $0.removeFirst() }?()
      return entry
    }

    func submit(
      _ batch: WriteBatch, from origin: StoreOrigin,
      completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
    ) { memory.submit(batch, from: origin, completion: completion) }
  }

  @Test("A write of a versioned key is repeated after another writer was faster, but not over a later own write")
  func overtaken() async throws {
    let engine = InterruptedEngine()
    let key = SettingKey("k", in: .engine("e"), owner: "Tests", about: "A number.", default: 0)
      .versioned(by: try ValueSchema("number", version: 1))
    try await fixture.use(configured { $0.engines["e"] = engine }) { router in
      let settings = try await router.settings(key)
      let removal: @Sendable () -> Void = {
        engine.memory.submit(WriteBatch([.delete("k")]), from: StoreOrigin()) { _ in }
      }
      settings[key] = 1
      engine.interruptions.withLock { $0 = [removal] }
      settings[key] = 2
      #expect(try await router.get(key) == 2, "it is repeated")
      let seen = Locked(0)
      engine.interruptions.withLock {
        $0 = [
          removal,
          {
            seen.withLock { $0 = settings[key] }
            settings[key] = 4
          },
        ]
      }
      settings[key] = 3
      #expect(seen.withLock { $0 } == 3, "a write that is being repeated is visible")
      #expect(settings[key] == 4)
      try await settings.flush()
      #expect(try await router.get(key) == 4)
      #expect(engine.interruptions.withLock { $0.isEmpty })
    }
  }

  // Requirement 5.12
  @Test("An undecodable value throws from get; the subscript returns the last known one and tells the error")
  func undecodable() async throws {
    let key = key()
    let told = Locked<[StorageError.Code]>([])
    try await fixture.use { router in
      let settings = try await router.settings(key) { error in told.withLock { $0.append(error.code) } }
      settings[key] = 5
      try await fixture.use { try await $0.set("x", for: plain("k", String.self, in: key.domain)) }
      await expectError(.decodingFailed) { _ = try settings.get(key) }
      #expect(settings[key] == 5)
      #expect(told.withLock { $0 } == [.decodingFailed])
    }
  }

  // Requirement 5.12
  @Test("A failed write is told, thrown by flush, and not returned as stored")
  func failedWrite() async throws {
    let engine = MemoryEngine()
    let told = Locked<[StorageError.Code]>([])
    let key = key(in: .engine("e"))
    try await fixture.use(configured { $0.engines["e"] = engine }) { router in
      let settings = try await router.settings(key) { error in told.withLock { $0.append(error.code) } }
      try await engine.close()
      settings[key] = 5
      #expect(told.withLock { $0 } == [.closed])
      await expectError(.closed) { try await settings.flush() }
      await expectError(.closed) { _ = try settings.get(key) }
    }
  }

  @Test("A handler of failures may write the setting that failed", .timeLimit(.minutes(1)))
  func handler() async throws {
    let engine = MemoryEngine()
    let key = key(in: .engine("e"))
    let door = Locked<StorageSettings?>(nil)
    let told = Locked(0)
    try await fixture.use(configured { $0.engines["e"] = engine }) { router in
      let settings = try await router.settings(key) { _ in
        let isFirst = told.withLock { told in
          told += 1
          return told == 1
        }
        if isFirst { door.withLock { $0 }?[key] = 6 }
      }
      door.withLock { $0 = settings }
      try await engine.close()
      settings[key] = 5
      #expect(told.withLock { $0 } == 2)
      door.withLock { $0 = nil }
    }
  }

  @Test("Keys with one name in two stores are two settings, also if they are declared anew at each use")
  func namesakes() async throws {
    func left() -> SettingKey<Int> { key("same", in: .memory("left")) }
    func right() -> SettingKey<Int> { key("same", in: .memory("right")) }
    try await fixture.use(configured { $0.unregisteredKeys = .allow }) { router in
      let settings = try await router.settings(left(), right())
      settings[left()] = 1
      settings[right()] = 2
      #expect(try settings.get(left()) == 1 && settings.get(right()) == 2)
      try await settings.flush()
    }
  }

  // Requirement 5.12
  @Test("Stores that can block, engines without synchronous reads and keys that were not opened are refused")
  func refusals() async throws {
    let engine = FaultInjectingEngine(MemoryEngine())
    let (plain, decorated) = (key(), key("d", in: .engine("e")))
    let sealed = key("s", in: .store(.sealed(path: fixture.path("secrets"))))
    let configuration = configured {
      $0.engines["e"] = engine
      $0.stores.passphrase = { _ in .provided { Data("correct horse".utf8) } }
    }
    try await fixture.use(configuration) { router in
      await expectError(.unsupported) { _ = try await router.settings(decorated) }
      await expectError(.unsupported) { _ = try await router.settings(sealed) }
      let settings = try await router.settings(plain)
      await expectError(.unregisteredKey) { _ = try settings.get(key("other")) }
    }
  }

  // Requirement 5.13
  @Test("Preferences are written in the background, and flush waits for them")
  func preferences() async throws {
    let key = key(in: .userDefaults())
    try await fixture.use { router in
      let settings = try await router.settings(key)
      for number in 1...5 { settings[key] = number }
      #expect(settings[key] == 5)
      try await settings.flush()
      #expect(settings[key] == 5)
    }
    let stored = try await fixture.use { try await $0.get(key) }
    #expect(stored == 5)
  }

  // Requirement 5.12
  @Test("A setting whose lifetime has ended has its default again, also without a commit", arguments: [false, true])
  func lifetime(_ isDatabase: Bool) async throws {
    let clock = SettableClock()
    let key = SettingKey(
      "ticket", in: isDatabase ? key().domain : .engine("e"), owner: "Tests", about: "It expires.", default: 0,
      lifetime: .seconds(60))
    let configuration = configured {
      $0.engines["e"] = MemoryEngine(clock: clock.storeClock)
      $0.stores.database.clock = clock.storeClock
    }
    try await fixture.use(configuration) { router in
      let settings = try await router.settings(key)
      settings[key] = 5
      clock.advance(by: 59)
      #expect(settings[key] == 5)
      settings[key] = 6
      clock.advance(by: 59)
      #expect(try settings[key] == 6 && settings.isStored(key))
      clock.advance(by: 1)
      #expect(try settings[key] == 0 && !settings.isStored(key))
      try await router.set(7, for: key, expires: clock.now + 10)
      #expect(settings[key] == 7)
      clock.advance(by: 10)
      #expect(settings[key] == 0)
      settings[key] = 8
      #expect(settings[key] == 8)
      try await settings.flush()
    }
  }

  // Requirement 5.12
  @Test("A damaged setting is an error that names it, others are read, and writing it mends it")
  func damage() async throws {
    let (broken, whole) = (key("broken"), key("whole"))
    let path = fixture.path("own.db")
    try await fixture.use { router in
      try await router.set(1_234_567_890, for: broken)
      try await router.set(2, for: whole)
    }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let value = try #require(bytes.range(of: Data("1234567890".utf8)))
    bytes[value.lowerBound] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    try await fixture.use { router in
      let error = await #expect(throws: StorageError.self) { _ = try await router.settings(broken, whole) }
      #expect(error?.code == .damaged && error?.key?.string == "broken", "\(error.map { "\($0)" } ?? "none")")
      #expect(error.map { "\($0)" }?.contains("34567890") == false)
      let settings = try await router.settings(whole)
      #expect(settings[whole] == 2)
      settings[whole] = 3
      try await router.set(5, for: broken)
      let mended = try await router.settings(broken, whole)
      #expect(mended[broken] == 5 && mended[whole] == 3)
    }
  }

  // Requirement 5.12
  @Test("While another process holds the database, an assignment returns, and is committed afterwards, in order")
  func heldLock() async throws {
    let (first, second) = (key("first"), key("second"))
    let told = Locked<[StorageError]>([])
    try await fixture.use { router in
      let settings = try await router.settings(first, second) { error in told.withLock { $0.append(error) } }
      settings[first] = 1
      let engine = try await SQLiteEngine.open(at: fixture.path("own.db"))
      let before = engine.latestRevision
      let helper = try HelperProcess(["hold-lock", fixture.path("own.db")])
      #expect(try helper.line() == "holding")
      // The lock is released only after all three have returned.
      settings[first] = 2
      settings[second] = 3
      settings[first] = 4
      #expect(settings[first] == 4 && settings[second] == 3, "they are visible at once")
      #expect(engine.latestRevision == before, "nothing was committed yet")
      helper.tell("go")
      try await settings.flush()
      #expect(told.withLock { $0 }.isEmpty)
      #expect(try await router.get(first) == 4)
      #expect(try await router.get(second) == 3)
      let commits = try #require(engine.recentCommits(after: before))
      let own = commits.flatMap { $0.changed.keys.map(\.string) }.filter { $0 != "held" }
      #expect(own == ["first", "second", "first"])
      helper.wait()
      try await engine.close()
    }
  }

  @MainActor private final class View {
    @Stored(.theme) var theme
  }

  @MainActor @Test("A task-local router serves the properties that are created inside it")
  func currentRouter() async throws {
    try await fixture.use { router in
      let view = StorageRouter.$current.withValue(router) { View() }
      view.theme = .dark
      try await view.$theme.flush()
      #expect(try await router.get(.theme) == .dark)
    }
  }

  @Test("A setting, its stream and its cached value are not optional")
  func doors() async throws {
    let key = key()
    try await fixture.use { router in
      let settings = try await router.settings(key)
      settings[key] = 3
      #expect(settings[key] == 3)
      var values = try await router.values(of: key).makeAsyncIterator()
      let first: Result<Int, StorageError>? = await values.next()
      #expect(try first?.get() == 3)
      let cached: Int = router.cached(key)
      #expect(cached == 3)
    }
  }
}
