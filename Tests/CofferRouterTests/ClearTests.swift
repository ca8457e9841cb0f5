import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(5))) struct ClearTests {
  private struct Catalog: StorageKeyCatalog {
    var allKeys: [AnyStorageKey]
  }

  private let first = plain("first", in: .engine("a"), owner: "Account")
  private let second = plain("second", in: .engine("a"), default: 5, owner: "Account")
  private let third = plain("third", in: .engine("b"), owner: "Account")
  private let other = plain("other", in: .engine("b"), owner: "Shop")
  private let secret = TypedKey<String>(secret: "secret", in: .keychain(), owner: "Account", about: "For a test.")

  private let a = FaultInjectingEngine(MemoryEngine(name: "a"))
  private let b = FaultInjectingEngine(MemoryEngine(name: "b"))

  private func router() async throws -> StorageRouter {
    let router = StorageRouter(
      configuration: configured {
        $0.engines = ["a": a, "b": b]
        $0.unregisteredKeys = .allow
      })
    try await router.registerCatalog(
      Catalog(allKeys: [.key(first), .key(second), .key(third), .key(other), .key(secret)]))
    try await router.batch {
      $0.set(1, for: first)
      $0.set(2, for: second)
    }
    try await router.set(3, for: third)
    try await router.set(4, for: other)
    try await router.set(9, for: plain("undeclared", in: .engine("a")))
    return router
  }

  // Requirement 5.9
  @Test("The values of an owner are removed in one commit per store, and nothing else is")
  func owner() async throws {
    let router = try await router()
    let before = (a.latestRevision, b.latestRevision)
    let plan = try await router.clear(owner: "Account", dryRun: true)
    #expect(plan.isDryRun && plan.removed == ["first", "second", "third"])
    #expect(try await router.get(first) == 1)
    #expect((a.latestRevision, b.latestRevision) == before)
    let report = try await router.clear(owner: "Account")
    #expect(report.isComplete && !report.isDryRun && report.removed == plan.removed)
    #expect(report.stores.map(\.store).prefix(2) == ["engine a", "engine b"])
    #expect(a.latestRevision.rawValue == before.0.rawValue + 1 && b.latestRevision.rawValue == before.1.rawValue + 1)
    // The keychain was not asked about the secret.
    guard case .secret? = report.stores.last?.left.first?.reason else { throw TestFailure("\(report)") }
    for key in [first, third] { #expect(try await !router.exists(key)) }
    #expect(try await router.get(second) == 5)
    #expect(try await router.get(other) == 4)
    #expect(try await router.get(plain("undeclared", in: .engine("a"))) == 9)
    #expect(try await router.clear(owner: "Account").removed.isEmpty)
    #expect(a.latestRevision.rawValue == before.0.rawValue + 1)
    #expect(try await router.clear(all: .values).removed == ["other"])
    await expectError(.unregisteredKey, "Acount") { _ = try await router.clear(owner: "Acount") }
    await expectError(.unregisteredKey) { _ = try await StorageRouter().clear(all: .values) }
  }

  // Requirement 5.9
  @Test("A store that fails is named, the others are cleared, and a second run removes the rest")
  func failing() async throws {
    let router = try await router()
    a.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit)
    let report = try await router.clear(owner: "Account")
    #expect(report.removed == ["third"] && !report.isComplete)
    #expect(report.failures.map(\.code) == [.diskFull, .diskFull])
    #expect(report.stores[0].left.map(\.key) == ["first", "second"])
    #expect(try await router.get(first) == 1)
    #expect(try await !router.exists(third))
    a.inject(.fail(StorageError(.unavailable, "It is locked.")), into: .read)
    #expect(
      try await router.clear(owner: "Account", dryRun: true).failures.map(\.code) == [.unavailable, .unavailable])
    #expect(try await router.clear(owner: "Account").removed == ["first", "second"])
  }

  @Test("A store that does not exist is not created")
  func missing() async throws {
    let fixture = try RouterFixture()
    try await fixture.use { router in
      try await router.registerCatalog(ShopCatalog())
      try await router.set(.dark, for: .theme)
      #expect(try await router.clear(all: .values).removed == ["theme"])
      #expect(await router.currentAvailability().count { $0.availability == .available } >= 3)
      #expect(try await router.currentAvailability(of: .visits) == .available)
      #expect(!FileManager.default.fileExists(atPath: fixture.path("data/com.example.shop/coffer.db")))
      #expect(!FileManager.default.fileExists(atPath: fixture.path("documents")))
    }
  }

  // Requirement 5.9
  @Test("Expired values that are still stored are removed, too, and a clock that is set back shows none of them")
  func expired() async throws {
    let (directory, clock) = (try TemporaryDirectory(), SettableClock())
    var (database, slots) = (SQLiteEngine.Configuration(), SlotEngine.Configuration())
    (database.clock, slots.clock) = (clock.storeClock, clock.storeClock)
    let engines: [any StorageEngine] = [
      MemoryEngine(clock: clock.storeClock),
      try await SQLiteEngine.open(at: directory.path("store.db"), configuration: database),
      try await SlotEngine.files(in: directory.url.appendingPathComponent("files"), configuration: slots),
      try await SlotEngine.sealed(
        at: directory.url.appendingPathComponent("secrets.sealed"), passphrase: .provided { Data("words".utf8) },
        configuration: slots),
    ]
    for engine in engines {
      let router = StorageRouter.inMemory { $0.engines["e"] = FaultInjectingEngine(engine) }
      let (token, stays) = (plain("token", in: .engine("e"), owner: "Account"), plain("token2", in: .engine("e")))
      let family = KeyFamily<Int, Int>("f", in: .engine("e"), owner: "Account", about: "For a test.")
      try await router.registerCatalog(Catalog(allKeys: [.key(token), .family(family), .key(stays)]))
      let now = clock.now
      for key in [token, stays] { try await router.set(1, for: key, expires: now + 60) }
      try await router.set(1, for: family[7], expires: now + 60)
      #expect(try await router.get(token) == 1)
      clock.advance(by: 60)
      let report = try await router.clear(owner: "Account", .valuesAndSecrets)
      #expect(report.isComplete && report.removed.isEmpty, "\(report)")
      let revision = engine.latestRevision
      _ = try await router.clear(owner: "Account", .valuesAndSecrets)
      #expect(engine.latestRevision == revision, "there is nothing left to remove")
      clock.set(now)
      #expect(try await !router.exists(token), "\(engine.description)")
      #expect(router.cached(token) == nil)
      #expect(try await router.ids(of: family).isEmpty, "\(engine.description)")
      #expect(try await router.exists(stays), "\(engine.description)")
      try await engine.close()
    }
  }

  @Test("A damaged value is removed")
  func damaged() async throws {
    let router = try await router()
    a.inject(.fail(StorageError(.damaged, "The bytes differ.", key: "first")), into: .read)
    #expect(try await router.clear(owner: "Account").removed == ["first", "second", "third"])
    #expect(try await !router.exists(first))
  }

  @Test("Removals are sent as those of other writes are")
  func sync() async throws {
    let key = plain("synced", owner: "Account", sync: .automaticSmall)
    let (phone, watch) = InProcessTransport.pair()
    let router = StorageRouter.inMemory { $0.sync.transport = phone }
    try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
    try await router.set(1, for: key)
    #expect(try await router.clear(owner: "Account", dryRun: true).removed == ["synced"])
    try await router.waitForSync()
    #expect(try watch.received.map { try SyncSnapshot(decoding: $0).texts } == ["synced": "1"])
    #expect(try await router.clear(owner: "Account").removed == ["synced"])
    try await router.waitForSync()
    #expect(try watch.received.map { try SyncSnapshot(decoding: $0) } == SyncSnapshot(absent: ["synced"]))
  }
}
