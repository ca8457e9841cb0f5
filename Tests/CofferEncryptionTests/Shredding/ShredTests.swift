import Coffer
import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Destroys the keys of stores.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ShredTests {
  private static let count = 40
  private let directory: TemporaryDirectory
  private let clock = SettableClock()

  init() throws { directory = try TemporaryDirectory() }

  private func base(_ kind: TestedStore = .sqlite) async throws -> any StorageEngine {
    try await kind.open(in: directory.url, StoreOptions(clock: clock.storeClock))
  }

  private func fill(_ engine: any StorageEngine, prefix: String = "k/") async throws {
    for number in 0..<Self.count { try await engine.put(.known("\(prefix)\(number)"), "value \(number)") }
    var attributes = ValueAttributes()
    attributes.expires = clock.now + 1
    try await engine.put("expired", "e", attributes)
    clock.advance(by: 2)
  }

  private func ring(of base: any StorageEngine) async throws -> KeyRing {
    try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }.ring
  }

  private func stored(in base: any StorageEngine) async throws -> [KeyName] {
    try await base.withAllStored { try await $0.summaries(prefix: nil, after: nil, limit: 1_000) }.map(\.key)
  }

  // Requirement 1.48
  @Test(
    "Nothing opens afterwards, and no file has the old keys",
    arguments: [.memory] + TestedStore.with(.local, .plain), [EncryptionSettings(), .secret])
  func erases(_ kind: TestedStore, _ settings: EncryptionSettings) async throws {
    let base = try await base(kind)
    let engine = try await base.encrypted(settings)
    var search = FileSearch()
    try await search.add(base)
    // Retired keys, and values in the quarantine of the encryption.
    for _ in 0..<3 {
      try await base.changeRing { try $0.addPrimary(now: clock.now) }
      try await search.add(base)
    }
    try await fill(engine)
    // The memory engine has no quarantine.
    let quarantined = kind == .memory ? 0 : 1
    if kind != .memory { try await damageOne(base, engine) }
    let old = try await ring(of: base)
    if kind.has(.local) { #expect(try !search.found(in: directory.url).isEmpty) }
    let forecast = try await engine.shred(dryRun: true)
    #expect(forecast.isDryRun && forecast.values >= Self.count && forecast.quarantinedValues == quarantined)
    #expect(try await engine.summaries().count == Self.count)
    let report = try await engine.shred()
    #expect(report.isComplete && !report.isDryRun, "\(report.obstacles)")
    #expect(
      report.values == forecast.values && report.bytes == forecast.bytes && report.quarantinedValues == quarantined)
    #expect(Set(report.destroyedKeys) == Set(old.entries.map(\.id.short)))
    #expect(Set(forecast.destroyedKeys) == Set(report.destroyedKeys))
    #expect(try search.found(in: directory.url) == [])
    #expect(try await stored(in: base) == [])
    #expect(try await engine.summaries().isEmpty)
    #expect(try await engine.entry("k/1") == nil)
    #expect(try await engine.quarantinedValues().isEmpty)
    let new = try await ring(of: base)
    #expect(new.entries.count == 1 && new.keys.keys.allSatisfy { old.keys[$0] == nil })
    #expect(settings.hidesNames == (new.indexKey.id != old.indexKey.id) && new.storeID == old.storeID)
    try await engine.put("k/1", "new")
    try await engine.close()
    guard kind != .memory else { return }
    let reopened = try await self.base(kind).encrypted(settings)
    #expect(try await reopened.text("k/1") == "new")
    #expect(try await reopened.summaries().map(\.key) == ["k/1"])
    try await reopened.close()
    #expect(try search.found(in: directory.url) == [])
  }

  /// Keeps the bytes of a damaged value, as a damage policy does, and replaces it.
  private func damageOne(_ base: any StorageEngine, _ engine: EncryptedEngine) async throws {
    let key = try await base.withSnapshot { try await $0.summaries(prefix: nil, after: nil, limit: 1) }[0].key
    let name = try #require(try await engine.summaries().first).key
    guard !engine.capabilities.contains(.secrecy) else {
      // Which stored key is which is hidden: every name is asked.
      let entry = try #require(try await base.entry(key))
      try await base.commit(
        WriteBatch([.put(key, Data(entry.value.dropLast()), entry.attributes)]), from: StoreOrigin())
      for name in try await engine.summaries().map(\.key) { _ = try await engine.damage(of: name) }
      return
    }
    let entry = try #require(try await base.entry(name))
    try await base.commit(WriteBatch([.put(name, Data(entry.value.dropLast()), entry.attributes)]), from: StoreOrigin())
    #expect(try await engine.damage(of: name) != nil)
  }

  @Test("Plain values of a store stay")
  func declared() async throws {
    let base = try await base()
    try await base.put("theme", "dark")
    let engine = try await base.encrypted(only: { $0.hasPrefix("secret/") })
    try await fill(engine, prefix: "secret/")
    let report = try await engine.shred()
    // The expired value has no declared key.
    #expect(report.values == Self.count && report.isComplete)
    #expect(try await engine.summaries().map(\.key) == ["theme"])
    #expect(try await engine.text("theme") == "dark")
    #expect(try await engine.entry("secret/1") == nil)
    try await engine.close()
  }

  @Test("Interrupted, it leaves values that say so, and the next opening continues", arguments: [false, true])
  func interrupted(_ isHidden: Bool) async throws {
    let settings = isHidden ? EncryptionSettings.hidden : EncryptionSettings()
    let base = try await base()
    let faulty = FaultInjectingEngine(OpenEngine(base))
    let engine = try await faulty.encrypted(settings)
    let other = try await OpenEngine(base).encrypted(settings)
    try await fill(engine)
    #expect(try await other.text("k/3") == "value 3")
    faulty.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, at: 2, times: nil)
    let error = try await storageError { try await engine.shred() }
    #expect(error.code == .diskFull)
    faulty.removeFaults()
    // Another process notices with its next commit at the latest.
    try await other.put("other", "1")
    for reader in [engine, other] {
      if isHidden {
        #expect(try await reader.entry("k/3") == nil)
      } else {
        await expectStorageError(.keyUnavailable, contains: "was destroyed on 20") { _ = try await reader.entry("k/3") }
      }
    }
    // Such a value can be replaced and deleted.
    try await engine.put("k/3", "new")
    try await engine.commit(WriteBatch([.delete("k/4")]), from: StoreOrigin())
    let recorder = EventRecorder()
    let next = try await EventHookEngine(OpenEngine(base), recorder.events).encrypted(settings)
    try await recorder.first { if case .keysReplaced = $0.kind { true } else { false } }
    #expect(try await next.summaries().map(\.key) == ["k/3", "other"])
    #expect(try await next.text("k/3") == "new")
    #expect(try await ring(of: base).entries.count == 1)
    try await next.close()
    try await base.close()
  }

  @Test("What a reader of the log prevents is reported, and done by the next opening")
  func obstacle() async throws {
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 50
    configuration.clock = clock.storeClock
    let path = directory.path("store.db")
    let base = try await SQLiteEngine.open(at: path, configuration: configuration)
    let engine = try await base.encrypted()
    var search = FileSearch()
    try await search.add(base)
    try await fill(engine)
    let report = try await base.withSnapshot { snapshot in
      // The snapshot begins with its first read.
      _ = try await snapshot.entries(["k/1"])
      return try await engine.shred()
    }
    #expect(!report.isComplete && report.values == Self.count + 1)
    #expect(report.obstacles.map(\.code) == [.busy], "\(report.obstacles)")
    #expect(try !search.found(in: directory.url).isEmpty)
    #expect(try await engine.entry("k/1") == nil)
    try await engine.close()
    let recorder = EventRecorder()
    configuration.events = recorder.events
    let next = try await SQLiteEngine.open(at: path, configuration: configuration).encrypted()
    try await recorder.first { if case .keysReplaced = $0.kind { true } else { false } }
    #expect(try search.found(in: directory.url) == [])
    try await next.close()
  }

  @Test("A retired key can be destroyed by itself")
  func oneKey() async throws {
    let base = try await base()
    let engine = try await base.encrypted()
    try await fill(engine)
    let old = try await ring(of: base).primary.id
    try await base.changeRing { try $0.addPrimary(now: clock.now) }
    try await engine.put("new", "1")
    await expectStorageError(.unsupported) { try await engine.shred(key: self.ring(of: base).primary.id.short) }
    await expectStorageError(.notFound) { try await engine.shred(key: "00000000") }
    let forecast = try await engine.shred(key: old.short, dryRun: true)
    #expect(forecast.values >= Self.count && forecast.destroyedKeys == [old.short])
    let report = try await engine.shred(key: old.short)
    #expect(report.values == forecast.values && report.isComplete)
    #expect(try await engine.summaries().map(\.key) == ["new"])
    #expect(try await engine.text("new") == "1")
    #expect(try await ring(of: base).entries.count == 1)
    try await engine.close()
  }

  @Test("An earlier copy of the store opens with the same root key, as the report says")
  func copies() async throws {
    let base = try await base()
    let engine = try await base.encrypted()
    try await fill(engine)
    let copy = directory.path("copy.db")
    try await (base as? SQLiteEngine)?.backup(to: copy)
    try await engine.shred()
    #expect(try await engine.entry("k/1") == nil)
    let earlier = try await SQLiteEngine.open(at: copy).encrypted(label: standardLabel(of: base.description))
    #expect(try await earlier.text("k/1") == "value 1")
    #expect(ShredReport.limits.contains("Earlier copies"))
    try await earlier.close()
    try await engine.close()
  }

  @Test("A store that is open for reading only is left alone")
  func refused() async throws {
    let base = try await base(.memory)
    let engine = try await base.encrypted()
    try await fill(engine)
    let revision = base.latestRevision
    let reader = try await ReadOnlyEngine(base).encrypted()
    await expectStorageError(.readOnly) { try await reader.shred() }
    await expectStorageError(.readOnly) { try await reader.scrub() }
    #expect(base.latestRevision == revision)
    #expect(try await engine.text("k/1") == "value 1")
  }

  @Test("A rotation removes the old keys from the files, too", arguments: TestedStore.with(.local, .plain))
  func rotation(_ kind: TestedStore) async throws {
    let base = try await base(kind)
    let engine = try await base.encrypted()
    try await fill(engine)
    var search = FileSearch()
    try await search.add(base)
    #expect(try !search.found(in: directory.url).isEmpty)
    // A deleted value is erased for good by the next rotation.
    try await engine.commit(WriteBatch([.delete("k/7")]), from: StoreOrigin())
    let report = try await engine.rotate().result()
    #expect(report.isScrubbed && report.removedKeys.count == 1)
    #expect(try search.found(in: directory.url) == [])
    #expect(try await engine.text("k/1") == "value 1")
    try await engine.scrub()
    try await engine.close()
  }
}

/// An engine whose events are told to another hook.
final class EventHookEngine: EngineDecorator {
  let base: any StorageEngine
  let events: CofferEvents?
  init(_ base: any StorageEngine, _ events: CofferEvents) { (self.base, self.events) = (base, events) }
}
