import CofferCore
import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// Sync of declared keys, over a transport within this process.
@Suite(.timeLimit(.minutes(15))) struct SyncTests {
  let fixture: RouterFixture
  private let phone, watch: InProcessTransport
  private let failures = Locked<[any Error]>([])
  private let small = plain("small", String.self, in: .database(), sync: .automaticSmall)
  private let manual = plain("manual", String.self, in: .database(), sync: .manual)
  private let local = plain("local", String.self, in: .database())

  init() throws {
    fixture = try RouterFixture()
    (phone, watch) = InProcessTransport.pair()
  }

  private func catalog() -> ShopCatalog {
    ShopCatalog(name: "Sync", allKeys: [.key(small), .key(manual), .key(local), .key(.token)])
  }

  private func use<R>(
    _ transport: (any SyncTransport)?, _ body: (StorageRouter) async throws -> R
  ) async throws -> R {
    let failures = failures
    let configuration = configured {
      $0.sync.transport = transport
      $0.sync.onFailure = { error in failures.withLock { $0.append(error) } }
    }
    return try await fixture.use(configuration) { router in
      try await router.registerCatalog(catalog())
      return try await body(router)
    }
  }

  private func received() throws -> [String: String]? {
    try watch.received.map { try SyncSnapshot(decoding: $0).texts }
  }

  // Requirements 4.3, 4.24, 4.43, 4.46, 4.47
  @Test("Automatic keys are sent when written, manual ones on request, others never")
  func policies() async throws {
    try await use(phone) { router in
      try await router.set("a", for: local)
      try await router.set("b", for: manual)
      try await router.set("c", for: small)
      try await router.waitForSync()
      #expect(try received() == ["small": #""c""#])
      #expect(try await router.syncRegisteredKeysIfNeeded())
      #expect(try received() == ["small": #""c""#, "manual": #""b""#])
      try await router.set("d", for: manual)
      try await router.set("e", for: small)
      try await router.waitForSync()
      #expect(try received() == ["small": #""e""#, "manual": #""b""#])
      #expect(try await router.syncRegisteredKeysIfNeeded())
      #expect(try received() == ["small": #""e""#, "manual": #""d""#])
      #expect(try await !router.syncRegisteredKeysIfNeeded())
      try await router.remove(small)
      try await router.remove(manual)
      try await router.waitForSync()
      #expect(try received() == ["manual": #""d""#])
      #expect(try await router.syncSnapshot() == SyncSnapshot(absent: ["small", "manual"]))
    }
  }

  // Requirement 4.24
  @Test("A value that is too large for automatic sync is refused before it is written")
  func tooLarge() async throws {
    try await use(phone) { router in
      let large = String(repeating: "x", count: 4_096)
      await expectError(.dataTooLargeForSync, "small") { try await router.set(large, for: small) }
      await expectError(.dataTooLargeForSync) { try await router.batch { $0.set(large, for: small) } }
      #expect(try await !router.exists(small))
      try await router.set(large, for: manual)
      await expectError(.dataTooLargeForSync) { try await router.setSyncPolicy(.automaticSmall, for: manual) }
      #expect(try await router.syncPolicy(for: manual) == .manual)
      try await router.set(String(large.dropLast(2)), for: small)
    }
  }

  // Requirement 4.51
  @Test("An override survives a restart, appears in the audit, and is refused for a secret")
  func overrides() async throws {
    try await use(phone) { router in
      try await router.setSyncPolicy(.never, for: small)
      try await router.setSyncPolicy(.automaticSmall, for: local)
      await expectError(.insecureKey, "token") { try await router.setSyncPolicy(.manual, for: .token) }
      await expectError(.unregisteredKey) { try await router.setSyncPolicy(.never, for: plain("other")) }
    }
    try await use(phone) { router in
      #expect(try await router.syncPolicy(for: small) == .never)
      #expect(try await router.syncPolicy(for: local) == .automaticSmall)
      #expect(try await router.syncPolicy(for: manual) == .manual)
      try await router.set("a", for: small)
      try await router.set("b", for: local)
      try await router.waitForSync()
      #expect(try received() == ["local": #""b""#])
      let entry = await router.auditReport().entries.first { $0.key.name == "small" }?.key
      #expect(entry?.sync == "never" && entry?.declaredSync == "automaticSmall")
      try await router.setSyncPolicy(nil, for: small)
      #expect(try await router.syncPolicy(for: small) == .automaticSmall)
    }
  }

  // Requirement 4.51
  @Test("Overrides that an earlier version stored as a value apply, and are moved to the record")
  func earlierOverrides() async throws {
    let engine = MemoryEngine(name: "memory")
    let earlier = KeyName("coffer.sync-policies")
    try await engine.commit(WriteBatch([.put(earlier, Data(#"{"small":"never"}"#.utf8))]), from: StoreOrigin())
    let configuration = configured {
      $0.engines["memory"] = engine
      $0.stateDomain = .engine("memory")
    }
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(catalog())
      #expect(try await router.syncPolicy(for: small) == .never)
      try await engine.commit(WriteBatch([.put(earlier, Data("{".utf8))]), from: StoreOrigin())
      await expectError(.damaged) { try await router.setSyncPolicy(.automaticSmall, for: local) }
      #expect(try await engine.entry(earlier) != nil)
      try await engine.commit(WriteBatch([.put(earlier, Data(#"{"small":"never"}"#.utf8))]), from: StoreOrigin())
      try await router.setSyncPolicy(.automaticSmall, for: local)
      #expect(try await engine.entry(earlier) == nil)
    }
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(catalog())
      #expect(try await router.syncPolicy(for: small) == .never)
      #expect(try await router.syncPolicy(for: local) == .automaticSmall)
    }
  }

  @Test("A key that has become a secret is never sent, whatever its earlier override")
  func becameSecret() async throws {
    try await use(phone) { try await $0.setSyncPolicy(.automaticSmall, for: local) }
    let secret = plain("local", String.self, in: .engine("safe"))
    struct Secret: StorageKey {
      typealias Value = String
      let name = "local"
      let domain = StorageDomain.keychain()
      let owner = "Tests"
      let description = "A secret now."
    }
    try await fixture.use(
      configured {
        $0.isInMemory = true
        $0.sync.transport = phone
      }
    ) { router in
      try await router.registerCatalog(ShopCatalog(name: "New", allKeys: [.key(Secret())]))
      try await router.set("s3cret", for: Secret())
      #expect(try await router.syncSnapshot().isEmpty)
      try await router.waitForSync()
      #expect(try await router.syncPolicy(for: Secret()) == .never)
      await expectError(.unregisteredKey, "another key") { _ = try await router.get(secret) }
    }
    #expect(try received()?.isEmpty ?? true)
  }

  // Requirements 4.45, 4.46, 4.47
  @Test("A request of another device receives a reply; an unreachable device is an error")
  func exchange() async throws {
    struct ExchangeOnly: ExchangeTransport {
      let transport: InProcessTransport
      func exchange(_ state: Data, timeout: Duration) async throws -> Data {
        try await transport.exchange(state, timeout: timeout)
      }
    }
    try await use(ExchangeOnly(transport: phone)) { router in
      // The value is stored: the failure to send is reported, and the value is sent the next time.
      try await router.set("a", for: small)
      await expectError(.unavailable, "reach") { try await router.waitForSync() }
      #expect((failures.withLock { $0.first } as? StorageError)?.code == .unavailable)
      await expectError(.unavailable, "reach") { try await router.syncRegisteredKeysIfNeeded() }
      #expect(try await router.get(small) == "a")
      let heard = Locked<[Data]>([])
      watch.answer { state in
        heard.withLock { $0.append(state) }
        return Data()
      }
      try await router.syncRegisteredKeysIfNeeded()
      #expect(
        try heard.withLock { $0.last }.map { try SyncSnapshot(decoding: $0).texts } == ["small": #""a""#])
      phone.answer { _ in try await router.syncSnapshot().encoded }
      let answer = try await watch.exchange(Data(), timeout: .seconds(10))
      #expect(try SyncSnapshot(decoding: answer).values.keys.sorted() == ["small"])
    }
    watch.answer { _ in
      try await hang()
      return Data()
    }
    await expectError(.unavailable, "in time") { _ = try await phone.exchange(Data(), timeout: .milliseconds(50)) }
  }

  @Test("Without a transport sync throws, and snapshots still work")
  func nobody() async throws {
    try await use(nil) { router in
      try await router.set("a", for: small)
      await expectError(.unsupported, "transport") { try await router.syncRegisteredKeysIfNeeded() }
      #expect(try await router.syncSnapshot().values.count == 1)
    }
  }
}
