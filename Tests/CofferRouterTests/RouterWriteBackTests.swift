import CofferRouter
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Routers whose stores commit after a write has returned.
@Suite(.timeLimit(.minutes(5))) struct RouterWriteBackTests {
  private let engine = MemoryEngine()
  private let clock = ManualClock()
  private let key = number("a")

  private static func number(_ name: String, in engine: String = "e") -> TypedKey<Int> {
    TypedKey(name, in: .engine(engine), owner: "Tests", about: "A number.")
  }

  private func router(_ other: (any StorageEngine)? = nil) -> StorageRouter {
    let policy = WritePolicy.back(clock: clock)
    return StorageRouter(
      configuration: configured {
        $0.engines = ["e": other ?? engine, "through": MemoryEngine()]
        $0.unregisteredKeys = .allow
        $0.writePolicy = policy
        $0.writePolicies = [.engine("through"): .through]
      })
  }

  // Requirement 1.33
  @Test("A write is in memory until the flush, and every read of the router sees it")
  func reads() async throws {
    let router = router()
    let drafts = KeyFamily<Int, Int>("drafts", in: .engine("e"), owner: "Tests", about: "Numbers.")
    try await router.set(1, for: key)
    try await router.set(5, for: drafts[1])
    #expect(engine.latestRevision == .zero && router.pendingWrites.count == 2)
    #expect(try await router.get(key) == 1)
    #expect(router.cached(key) == 1)
    #expect(try await router.exists(key))
    #expect(engine.latestRevision == .zero)
    // These read from the engine, so that the writes are committed first.
    #expect(try await router.state(of: [key]).get(key) == 1)
    #expect(router.pendingWrites.count == 0)
    try await router.set(6, for: drafts[2])
    #expect(try await router.ids(of: drafts) == [1, 2])
    try await router.set(2, for: key)
    #expect(try await router.versioned(key).value == 2)
    try await router.set(3, for: key)
    #expect(try await router.bytes(of: key) == Data("3".utf8))
    try await router.set(4, for: key)
    #expect(try await router.update(key) { $0 += 1 } == 5)
    try await router.set(7, for: key)
    let inTransaction = try await router.transaction(in: .engine("e")) { [key] in try await $0.get(key) }
    #expect(inTransaction == 7)
    try await router.set(8, for: key)
    for await value in try await router.values(of: key) {
      #expect(try value.get() == 8)
      break
    }
    try await router.remove(key)
    #expect(try await !router.exists(key))
    #expect(try await engine.contains("a"))
    try await router.flush()
    #expect(try await !engine.contains("a"))
    try await router.set(1, for: Self.number("b", in: "through"))
    #expect(router.pendingWrites.count == 0)
  }

  // Requirement 1.33
  @Test("A batch is one commit in its order")
  func batches() async throws {
    let router = router()
    try await router.set(1, for: key)
    try await router.batch { batch in
      batch.set(2, for: key)
      batch.set(3, for: Self.number("b"))
    }
    try await router.remove(Self.number("b"))
    try await router.flush()
    #expect(try await engine.entry("a")?.value == Data("2".utf8))
    #expect(try await !engine.contains("b"))
  }

  // Requirement 1.33
  @Test("Secrets, values with versions and conditional writes are committed at once, after what is pending")
  func through() async throws {
    let fixture = try RouterFixture()
    let settings = configured {
      $0.writePolicy = .back(clock: clock)
      $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test")
      $0.unregisteredKeys = .allow
    }
    let secret = TypedKey<String>(secret: "token", in: .database(), owner: "Tests", about: "A token.")
    let plain = TypedKey<Int>("a", in: .database(), owner: "Tests", about: "A number.")
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      try await router.set(1, for: plain)
      #expect(router.pendingWrites.count == 1)
      try await router.set("s", for: secret)
      #expect(router.pendingWrites.count == 0)
    }
    let router = router()
    let versioned = key.versioned(by: try ValueSchema("number", version: 1))
    try await router.set(1, for: versioned)
    #expect(router.pendingWrites.count == 0)
    let other = Self.number("b")
    try await router.set(1, for: other)
    await expectError(.preconditionFailed) { try await router.setIfUnchanged(2, for: other, since: nil) }
    await expectError(.unsupported) {
      _ = try await router.settings(
        SettingKey<Int>("s", in: .engine("e"), owner: "Tests", about: "A number.", default: 0))
    }
  }

  // Requirement 1.33
  @Test("A flush that fails throws and keeps the writes, and so does closing")
  func failures() async throws {
    let failing = FaultInjectingEngine(engine)
    let router = router(failing)
    try await router.set(1, for: key)
    failing.inject(.fail(StorageError(.diskFull, "No space is left.", advice: "Free some.")), into: .commit, times: 2)
    await expectError(.diskFull) { try await router.flush() }
    #expect(router.pendingWrites.count == 1 && router.pendingWrites.failure?.code == .diskFull)
    #expect(try await router.get(key) == 1)
    await expectError(.diskFull) { try await router.close() }
    #expect(router.pendingWrites.count == 1)
    try await router.close()
    #expect(try await engine.entry("a")?.value == Data("1".utf8))
    let second = self.router()
    try await second.set(2, for: key)
    #expect(await second.discardPendingWrites() == ["a"])
    #expect(try await second.get(key) == 1)
  }

  // Requirement 1.33
  @Test("A killed process loses no plain value, and leaves none of an encrypted key")
  func killed() async throws {
    let fixture = try RouterFixture()
    let path = fixture.path("store.db")
    let domain = StorageDomain.database(URL(fileURLWithPath: path))
    let settings = configured {
      $0.writePolicy = .back(window: .seconds(3_600))
      $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test")
    }
    let (kept, secret) = (
      plain("plain", String.self, in: domain), plain("secret", String.self, in: domain, security: .encrypted(.aes256))
    )
    var log = Data()
    var name = ""
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      try await router.set("a value in plain", for: kept)
      try await router.set("an encrypted value", for: secret)
      #expect(router.pendingWrites.count == 2 && !router.pendingWrites.isLogged)
      name = try #require(try FileManager.default.contentsOfDirectory(atPath: path + "-pending").first)
      log = try Data(contentsOf: URL(fileURLWithPath: "\(path)-pending/\(name)"))
      await router.discardPendingWrites()
    }
    #expect(log.range(of: Data("a value in plain".utf8)) != nil)
    #expect(log.range(of: Data("an encrypted value".utf8)) == nil)
    // What a killed process would have left.
    try FileManager.default.createDirectory(atPath: path + "-pending", withIntermediateDirectories: true)
    try log.write(to: URL(fileURLWithPath: "\(path)-pending/\(name)"))
    try await fixture.use(settings) { (router: StorageRouter) async throws -> Void in
      #expect(try await router.get(kept) == "a value in plain")
      #expect(try await !router.exists(secret))
    }
  }

  @Test("Observed values wait for the commit") @MainActor
  func stored() async throws {
    let router = router()
    let value = StoredValue(key, in: router, initially: 0)
    _ = try await value.load()
    value.value = 9
    try await value.flush()
    #expect(try await engine.entry("a")?.value == Data("9".utf8))
  }
}
