import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// What is removed after keys were destroyed, and what is kept.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ShredRemainsTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func base(_ kind: TestedStore = .sqlite) async throws -> any StorageEngine {
    try await kind.open(in: directory.url)
  }

  private func ring(of base: any StorageEngine) async throws -> KeyRing {
    try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }.ring
  }

  private func stored(in base: any StorageEngine) async throws -> [KeyName] {
    try await base.withAllStored { try await $0.summaries(prefix: nil, after: nil, limit: 1_000) }.map(\.key)
  }

  /// Changes the stored bytes of a key.
  private func change(_ key: KeyName, in base: any StorageEngine, _ body: (inout Data) -> Void) async throws {
    let entry = try #require(try await base.entry(key))
    var value = entry.value
    body(&value)
    try await base.commit(WriteBatch([.put(key, value, entry.attributes)]), from: StoreOrigin())
  }

  /// Puts the bytes of a value into the quarantine, as a damage policy does.
  private func quarantine(_ key: KeyName, of engine: EncryptedEngine) async throws {
    try await change(key, in: engine.base) { $0.removeLast() }
    #expect(try await engine.damage(of: key) != nil)
  }

  /// Leaves a store whose keys are destroyed and whose files still have them, since a reader uses the log.
  private func shredWithObstacle(_ base: any StorageEngine, _ engine: EncryptedEngine) async throws {
    let report = try await base.withSnapshot { snapshot in
      // The snapshot begins with its first read.
      _ = try await snapshot.entries(["k/1"])
      return try await engine.shred()
    }
    #expect(!report.isComplete)
  }

  private func sqlite(_ events: CofferEvents? = nil) async throws -> SQLiteEngine {
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 50
    configuration.events = events
    return try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
  }

  @Test("Destroying a retired key keeps what the primary key has encrypted in the quarantine")
  func oneKey() async throws {
    let base = try await base()
    let engine = try await base.encrypted()
    try await engine.put("old", "1")
    let old = try await ring(of: base).primary.id
    try await base.changeRing { try $0.addPrimary(now: Date()) }
    try await engine.put("new", "2")
    for key in ["old", "new"] as [KeyName] { try await quarantine(key, of: engine) }
    #expect(try await engine.shred(key: old.short, dryRun: true).quarantinedValues == 1)
    #expect(try await engine.shred(key: old.short).quarantinedValues == 1)
    #expect(try await engine.quarantinedValues().map(\.key) == ["new"])
    try await engine.close()
  }

  // Requirement 1.48
  @Test("What was written and quarantined since stays when an erasure is continued")
  func continued() async throws {
    let base = try await sqlite()
    let engine = try await base.encrypted()
    try await engine.put("k/1", "old")
    try await shredWithObstacle(base, engine)
    try await engine.put("k/1", "new")
    try await engine.put("k/2", "new")
    try await quarantine("k/2", of: engine)
    let report = try await engine.continueShredding()
    #expect(report.isComplete && report.destroyedKeys.count == 1)
    #expect(report.values == 0 && report.quarantinedValues == 0)
    #expect(try await engine.text("k/1") == "new")
    #expect(try await engine.quarantinedValues().map(\.key) == ["k/2"])
    #expect(try await ring(of: base).entries.count == 1)
    #expect(try await engine.continueShredding().destroyedKeys.isEmpty)
    try await engine.close()
  }

  @Test("A process that is open for a moment only finishes an erasure, too")
  func closedAtOnce() async throws {
    let base = try await sqlite()
    let engine = try await base.encrypted()
    var search = FileSearch()
    try await search.add(base)
    for number in 0..<100 { try await engine.put(.known("k/\(number)"), "old") }
    try await shredWithObstacle(base, engine)
    #expect(try !search.found(in: directory.url).isEmpty)
    #expect(try await ring(of: base).entries.count == 2)
    try await engine.close()
    try await sqlite().encrypted().close()
    #expect(try search.found(in: directory.url) == [])
    let last = try await sqlite()
    #expect(try await ring(of: last).entries.count == 1)
    try await last.close()
  }

  // Requirement 1.48
  @Test(
    "An envelope with one changed bit in its header is removed with the others",
    arguments: [TestedStore.sqlite, .file, .memory], [false, true])
  func changedHeader(_ kind: TestedStore, _ isHidden: Bool) async throws {
    let base = try await base(kind)
    let engine = try await base.encrypted(EncryptionSettings(hidesNames: isHidden))
    let count = 64
    for number in 0..<count { try await engine.put(.known("k/\(number)"), "value") }
    for (number, key) in try await stored(in: base).enumerated() {
      try await change(key, in: base) { $0[number] ^= 1 << UInt8(number % 8) }
    }
    #expect(try await engine.shred(dryRun: true).values == count)
    #expect(try await engine.shred().values == count)
    #expect(try await stored(in: base) == [])
    #expect(try await engine.summaries().isEmpty)
    try await engine.close()
  }

  @Test("Interrupted, hidden names of such envelopes do not keep listings from working for good")
  func changedHeaderInterrupted() async throws {
    let base = try await base()
    let faulty = FaultInjectingEngine(OpenEngine(base))
    let engine = try await faulty.encrypted(.hidden)
    for number in 0..<64 { try await engine.put(.known("k/\(number)"), "value") }
    for (number, key) in try await stored(in: base).enumerated() {
      try await change(key, in: base) { $0[number] ^= 1 << UInt8(number % 8) }
    }
    faulty.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, at: 2, times: nil)
    let error = try await storageError { try await engine.shred() }
    #expect(error.code == .diskFull)
    faulty.removeFaults()
    await #expect(throws: StorageError.self) { try await engine.summaries() }
    try await engine.put("new", "1")
    #expect(try await engine.continueShredding().values == 64)
    #expect(try await engine.summaries().map(\.key) == ["new"])
    try await base.close()
  }

  @Test("Rows that the store itself reports as damaged are removed, too")
  func damagedRows() async throws {
    let base = try await sqlite()
    let engine = try await base.encrypted(.hidden)
    for number in 0..<10 { try await engine.put(.known("k/\(number)"), "value") }
    try await base.perform { committer in
      try committer.housekeep {
        let some = "SELECT key FROM coffer_values ORDER BY key LIMIT 5"
        try committer.statements.execute("UPDATE coffer_values SET value = x'ff' WHERE key IN (\(some))", [])
      }
    }
    let keys = try await stored(in: base)
    #expect(keys.count == 10)
    await expectStorageError(.damaged) { _ = try await base.entry(keys[0]) }
    #expect(try await engine.shred().values == 10)
    #expect(try await stored(in: base) == [])
    #expect(try await engine.summaries().isEmpty)
    try await engine.close()
  }

  @Test("The key of the hashes stays if another process anchors the store at the same time")
  func anchoredMeanwhile() async throws {
    let base = MemoryEngine()
    let hooked = RingHookEngine(base)
    let engine = try await hooked.encrypted(.hidden)
    try await engine.put("k/1", "value")
    let old = try await ring(of: base)
    hooked.beforeNextRing {
      try await base.commit(WriteBatch([.putRecord(.rollback, Data([1]))]), from: StoreOrigin())
    }
    let report = try await engine.shred()
    #expect(report.values == 1 && report.destroyedKeys == [old.primary.id.short])
    let new = try await ring(of: base)
    #expect(new.indexKey.id == old.indexKey.id && new.primary.id != old.primary.id && new.entries.count == 1)
    #expect(try await base.record(.rollback)?.content == Data([1]))
    #expect(try await engine.summaries().isEmpty)
  }
}

/// An engine that runs a closure before its next commit of a key ring, once.
private final class RingHookEngine: EngineDecorator {
  let base: any StorageEngine
  private let hook = Locked<(@Sendable () async throws -> Void)?>(nil)

  init(_ base: any StorageEngine) { self.base = base }

  func beforeNextRing(_ body: @escaping @Sendable () async throws -> Void) { hook.withLock { $0 = body } }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let isRing = batch.operations.contains {
      if case .putRecord(.keyRing, _) = $0 { true } else { false }
    }
    if isRing {
      let body = hook.withLock { hook in
        defer { hook = nil }
        return hook
      }
      try await body?()
    }
    return try await base.commit(batch, from: origin)
  }
}
