import CofferCore
import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// The sending of automatic keys after changes.
@Suite(.serialized, .timeLimit(.minutes(15))) struct SyncFollowerTests {
  let fixture: RouterFixture
  private let transport = HeldTransport()
  private let failures = Locked<[any Error]>([])
  private let small = plain("small", String.self, in: .database(), sync: .automaticSmall)
  private let manual = plain("manual", String.self, in: .database(), sync: .manual)
  private let notes = KeyFamily<String, Int>(
    "drafts", in: .engine("shared"), owner: "Tests", about: "For a test.", sync: .automaticSmall)

  init() throws { fixture = try RouterFixture() }

  private func configuration(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageConfiguration {
    configured {
      $0.sync.transport = transport
      $0.sync.onFailure = { [failures] error in failures.withLock { $0.append(error) } }
      change(&$0)
    }
  }

  private func use<R>(
    _ keys: [AnyStorageKey]? = nil, _ configuration: StorageConfiguration? = nil,
    _ body: (StorageRouter) async throws -> R
  ) async throws -> R {
    try await fixture.use(configuration ?? self.configuration()) { router in
      try await router.registerCatalog(ShopCatalog(name: "Sync", allKeys: keys ?? [.key(small), .key(manual)]))
      return try await body(router)
    }
  }

  private var codes: [StorageError.Code?] {
    failures.withLock { $0.map { ($0 as? StorageError)?.code } }
  }

  // Requirement 5.15
  @Test("No write waits for a transport that hangs, and all of them share the next send")
  func held() async throws {
    let count = plain("count", in: .database(), sync: .automaticSmall)
    let lamp = SettingKey(
      "lamp", in: .database(), owner: "Tests", about: "For a test.", default: 0, sync: .automaticSmall)
    transport.hold()
    try await use([.key(small), .key(count), .key(lamp)]) { router in
      let settings = try await router.settings(lamp)
      try await eventually("a send") { transport.begun == 1 }
      for number in 0..<1_000 { try await router.set(number, for: count, durability: .relaxed) }
      try await router.batch { $0.set("a", for: small) }
      try await router.transaction(in: .database()) { try await $0.set("b", for: small) }
      try await router.update(count) { $0 += 1 }
      try await router.remove(small)
      try await router.setIfUnchanged("c", for: small, since: nil)
      settings[lamp] = 7
      try await settings.flush()
      #expect(transport.begun == 1 && transport.sent.isEmpty)
      transport.release()
      try await router.waitForSync()
      #expect(transport.sent.count == 2)
      #expect(try transport.latest().texts == ["small": #""c""#, "count": "1000", "lamp": "7"])
      #expect(failures.withLock { $0.isEmpty })
    }
  }

  // Requirement 5.15
  @Test("A change is sent without a request, and an equal state is not sent again")
  func alone() async throws {
    try await use { router in
      for text in ["a", "b"] {
        try await router.set(text, for: small)
        try await eventually("a send") { try transport.latest().texts == ["small": "\"\(text)\""] }
      }
      try await router.remove(small)
      try await eventually("a removal") { try transport.latest().state(of: "small") == .absent }
      try await router.waitForSync()
      let count = transport.sent.count
      try await router.remove(small)
      try await router.waitForSync()
      #expect(transport.sent.count == count)
    }
  }

  // Requirement 4.24
  @Test("A manual value leaves only as it was when requested")
  func manualValues() async throws {
    let unasked = Data(#""unasked""#.utf8).base64EncodedString()
    try await use { router in
      try await router.set("unasked", for: manual)
      for text in ["a", "b"] {
        try await router.set(text, for: small)
        try await router.waitForSync()
      }
      #expect(try transport.latest().state(of: "manual") == .notIncluded)
      try await router.set("asked", for: manual)
      #expect(try await router.syncRegisteredKeysIfNeeded())
      try await router.set("unasked", for: manual)
      try await router.set("c", for: small)
      try await router.waitForSync()
      #expect(try transport.latest().texts == ["small": #""c""#, "manual": #""asked""#])
      try await router.setSyncPolicy(.never, for: manual)
      try await router.waitForSync()
      #expect(try transport.latest() == SyncSnapshot(values: ["small": .init(Data(#""c""#.utf8))]))
      for state in transport.sent { #expect(!String(decoding: state, as: UTF8.self).contains(unasked)) }
    }
  }

  // Requirement 4.44
  @Test("A key of one kind of device is sent only if its policy is overridden")
  func oneDevice() async throws {
    let own = plain("own", in: .database(), availability: .phoneOnly, sync: .automaticSmall)
    let asked = plain("asked", in: .database(), availability: .phoneOnly, sync: .manual)
    let both = plain("both", in: .database(), availability: .phoneWithWatchSync, sync: .automaticSmall)
    let watch = plain("watch", in: .database(), availability: .watchOnly, sync: .automaticSmall)
    let keys: [AnyStorageKey] = [.key(own), .key(asked), .key(both), .key(watch)]
    try await use(keys, configuration { $0.platform = .phone }) { router in
      for key in [own, asked, both] { try await router.set(1, for: key) }
      try await router.waitForSync()
      #expect(try transport.latest() == SyncSnapshot(values: ["both": .init(Data("1".utf8))]))
      #expect(try await router.syncSnapshot() == transport.latest())
      #expect(try await router.syncPolicy(for: own) == .never)
      let entry = await router.auditReport().entries.first { $0.key.name == "own" }?.key
      #expect(entry?.sync == "never" && entry?.declaredSync == "automaticSmall")
      try await router.set(5_000, for: own)
      try await router.setSyncPolicy(.automaticSmall, for: own)
      #expect(try await router.syncPolicy(for: own) == .automaticSmall)
      try await router.waitForSync()
      #expect(try transport.latest().texts == ["both": "1", "own": "5000"])
      try await router.setSyncPolicy(nil, for: own)
      try await router.waitForSync()
      #expect(try transport.latest().texts == ["both": "1"])
    }
  }

  // Requirement 5.15
  @Test("Changes by another process are sent")
  func otherProcess() async throws {
    let path = fixture.path("shared.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await use([.family(notes)], configuration { $0.engines["shared"] = engine }) { router in
      #expect(try await router.ids(of: notes).isEmpty)
      try await router.waitForSync()
      let helper = try HelperProcess(["family-add", path, "a", "50"])
      for number in 0..<50 { #expect(try helper.line() == "ack \(number)") }
      #expect(helper.wait() == 0)
      try await eventually("50 values") { try transport.latest().values.count == 50 }
      #expect(try transport.latest().families == ["drafts/"])
    }
    try await engine.close()
  }

  // Requirements 1.51, 5.15
  @Test("After failures the latest state is sent")
  func recovery() async throws {
    transport.fail(StorageError(.unavailable, "The watch is away.", advice: "none"))
    try await use { router in
      try await router.set("a", for: small)
      await expectError(.unavailable, "away") { try await router.waitForSync() }
      #expect(codes.contains(.unavailable))
      try await router.set("b", for: small)
      transport.fail(nil)
      try await eventually("the latest state") { try transport.latest().texts == ["small": #""b""#] }
    }
  }

  // Requirement 5.15
  @Test("A router is released while a send hangs, and so is one that is closed")
  func released() async throws {
    final class Reference { weak var router: StorageRouter? }
    let references = [Reference(), Reference()]
    transport.hold()
    for reference in references {
      let begun = transport.begun
      let router = StorageRouter.inMemory { $0.sync.transport = transport }
      reference.router = router
      try await router.registerCatalog(ShopCatalog(name: "Sync", allKeys: [.key(small)]))
      try await router.set("a", for: small)
      try await eventually("a send") { transport.begun > begun }
      guard reference === references[1] else { continue }
      try await router.close()
      await expectError(.closed) { try await router.waitForSync() }
    }
    for reference in references { try await eventually("a release") { reference.router == nil } }
    #expect(transport.sent.isEmpty)
    transport.release()
  }

  // Requirement 5.15
  @Test("Waiting ends with the time, with the task, and without a transport")
  func waiting() async throws {
    try await use { router in
      transport.hold()
      try await router.set("a", for: small)
      await expectError(.unavailable, "within") { try await router.waitForSync(within: .milliseconds(20)) }
      await expectError(.unavailable, "within") { try await router.waitForSync(within: .zero) }
      let task = Task { try await router.waitForSync(within: .seconds(600)) }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      transport.release()
      try await router.waitForSync()
      #expect(try transport.latest().texts == ["small": #""a""#])
    }
    try await use(nil, configured { _ in }) { router in
      await expectError(.unsupported, "transport") { try await router.waitForSync() }
    }
  }

  @Test("A value that cannot be sent is reported and left out, and the others are sent")
  func leftOut() async throws {
    let engine = MemoryEngine(name: "shared")
    let text = plain("text", String.self, in: .engine("shared"), sync: .automaticSmall)
    let other = plain("other", in: .engine("shared"), sync: .automaticSmall)
    try await use([.key(text), .key(other)], configuration { $0.engines["shared"] = engine }) { router in
      try await router.set("a", for: text)
      let large = WriteBatch([.put("text", Data(repeating: 120, count: 5_000)), .put("other", Data("2".utf8))])
      try await engine.commit(large, from: StoreOrigin())
      await expectError(.dataTooLargeForSync, "text") { try await router.waitForSync() }
      try await eventually("the other value") { try transport.latest().texts == ["other": "2"] }
      #expect(try transport.latest().state(of: "text") == .notIncluded)
      #expect(codes.contains(.dataTooLargeForSync))
      await expectError(.dataTooLargeForSync) { _ = try await router.syncSnapshot() }
      try await router.set("b", for: text)
      try await router.waitForSync()
      #expect(try transport.latest().texts == ["other": "2", "text": #""b""#])
    }
  }

  // Requirement 5.15
  @Test("A subscriber that has fallen behind sends the state")
  func reload() async throws {
    /// Delivers a reload in place of each commit.
    struct ForgetfulEngine: EngineDecorator {
      let base: any StorageEngine
      func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
        let changes = base.changes(since: position)
        return AsyncStream { await changes.first { _ in true }.map { .reload(upTo: $0.revision) } }
      }
    }
    var sqlite = SQLiteEngine.Configuration()
    sqlite.journalRetention = 1
    let engine = try await SQLiteEngine.open(at: fixture.path("shared.db"), configuration: sqlite)
    let engines: [any StorageEngine] = [engine, ForgetfulEngine(base: engine)]
    for (number, engine) in engines.enumerated() {
      try await use([.family(notes)], configuration { $0.engines["shared"] = engine }) { router in
        _ = try await router.ids(of: notes)
        try await router.waitForSync()
        for value in 0...200 {
          let batch = WriteBatch([.put(try KeyName("drafts/\(number)"), Data("\(value)".utf8))], durability: .relaxed)
          try await engine.commit(batch, from: StoreOrigin())
        }
        try await eventually("the last value") { try transport.latest().texts["drafts/\(number)"] == "200" }
      }
    }
    try await engine.close()
  }

  // Requirement 1.51
  @Test("Values that were written before their catalog was registered, or by an earlier process, are sent")
  func earlier() async throws {
    try await fixture.use(configuration()) { router in
      try await router.set("a", for: small)
      #expect(transport.begun == 0)
      try await router.registerCatalog(ShopCatalog(name: "Sync", allKeys: [.key(small)]))
      try await eventually("the value") { try transport.latest().texts == ["small": #""a""#] }
    }
    transport.fail(StorageError(.unavailable, "The watch is away.", advice: "none"))
    try await use { try await $0.set("b", for: small) }
    transport.fail(nil)
    try await use { router in
      #expect(try await router.get(small) == "b")
      try await eventually("the value") { try transport.latest().texts == ["small": #""b""#] }
    }
  }

  @Test("An expiry and a native type are sent with their value")
  func attributes() async throws {
    let clock = SettableClock()
    let theme = plain("theme", String.self, in: .userDefaults(), sync: .automaticSmall)
    let ticket = plain("ticket", String.self, in: .engine("m"), sync: .automaticSmall)
    let configuration = configuration { $0.engines["m"] = MemoryEngine(clock: clock.storeClock) }
    try await use([.key(theme), .key(ticket)], configuration) { router in
      let end = clock.now + 60
      try await router.set("dark", for: theme)
      try await router.set("t", for: ticket, expires: end)
      try await router.waitForSync()
      let snapshot = try transport.latest()
      #expect(snapshot.texts == ["theme": "dark", "ticket": #""t""#])
      #expect(snapshot.values["theme"]?.attributes.isEmpty == false)
      #expect(snapshot.values["ticket"]?.attributes.expires == end)
      guard case .value = snapshot.state(of: "ticket", at: end - 0.001) else { throw TestFailure("absent too early") }
      #expect(snapshot.state(of: "ticket", at: end) == .absent)
      clock.advance(by: 60)
      try await router.waitForSync()
      #expect(try transport.latest().absent == ["ticket"])
    }
  }

  @Test("Sending creates no store")
  func createsNothing() async throws {
    let own = plain("own", in: .fileSystem(.documents), sync: .automaticSmall)
    try await use([.key(small), .key(own)]) { router in
      try await router.waitForSync()
      try await router.syncRegisteredKeysIfNeeded()
      #expect(try transport.latest() == SyncSnapshot(absent: ["small", "own"]))
      #expect(transport.sent.count == 1)
      for path in ["data/com.example.shop/coffer.db", "documents", "config"] {
        #expect(!FileManager.default.fileExists(atPath: fixture.path(path)))
      }
    }
  }
}
