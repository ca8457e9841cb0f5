import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// An anchor before whose next update another writer is first.
private final class RacingAnchor: RollbackAnchor {
  typealias Race = @Sendable () async throws -> Void

  let anchor: MemoryAnchor
  let description = "racing"
  private let race: Locked<Race?>

  init(_ anchor: MemoryAnchor, _ race: @escaping Race) {
    self.anchor = anchor
    self.race = Locked(race)
  }

  func record() async throws -> Data? { try await anchor.record() }

  func update(_ change: @escaping @Sendable (Data?) throws -> Data?) async throws {
    let race = race.withLock { race in
      defer { race = nil }
      return race
    }
    try await race?()
    try await anchor.update(change)
  }
}

/// Anchors that fail, that a later version has written and that others write at the same time.
@Suite(.timeLimit(.minutes(5))) struct AnchorFailureTests {
  private let anchor = MemoryAnchor()

  private func anchored() throws -> AnchorRecord { try AnchorRecord(try #require(anchor.state.withLock { $0.record })) }

  /// The number in the record of a store.
  private func number(_ base: any StorageEngine) async throws -> UInt64 {
    let ring = try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in
      try .forTests()
    }
    let record = try #require(try await base.record(.freshness))
    return try FreshnessRecord.open(record.content, under: FreshnessKeys(ring.ring)).sequence
  }

  @Test("An update that fails is told, and repeated without a further commit")
  func repeated() async throws {
    let failures = Locked<[StoreEvent.Failure]>([])
    let base = MemoryEngine(
      events: CofferEvents { event in
        if case .failed(let failure) = event.kind { failures.withLock { $0.append(failure) } }
      })
    var configuration = EncryptedEngine.Configuration.anchored(anchor)
    configuration.rollbackProtection?.interval = .milliseconds(20)
    let engine = try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
    let before = try anchored().sequence
    anchor.state.withLock { $0.isFailing = true }
    try await engine.put("key", "one")
    try await eventually("the failure is told") { !failures.withLock { $0.isEmpty } }
    #expect(failures.withLock { $0.allSatisfy { $0.operation == .anchoring && $0.code == .unavailable } })
    anchor.state.withLock { $0.isFailing = false }
    try await eventually("the anchor is updated") { try anchored().sequence > before }
    try await engine.close()
  }

  @Test("The anchor of a later version is not overwritten by accepting")
  func laterFormat() async throws {
    let base = MemoryEngine()
    try await base.anchored(anchor).put("key", "one")
    let body = Data("COFFANCR".utf8) + [2] + Data(repeating: 0, count: 80)
    let later = body + sha256(body)
    anchor.state.withLock { $0.record = later }
    for accepts in [false, true] {
      let error = try await storageError { _ = try await base.anchored(anchor, accepts: accepts) }
      #expect(error.code == .newerFormat, "\(error)")
    }
    #expect(anchor.state.withLock { $0.record } == later)
  }

  @Test("Accepting does not lower what another process anchors at the same time")
  func acceptingRace() async throws {
    let base = MemoryEngine()
    let engine = try await base.anchored(anchor)
    try await engine.put("key", "one")
    try await engine.flush()
    let racing = RacingAnchor(anchor) {
      for number in 0..<3 {
        try await engine.put("key", "\(number)")
        try await engine.flush()
      }
    }
    let accepted = try await base.anchored(racing, accepts: true)
    let sequence = try await number(base)
    #expect(try anchored().sequence == sequence)
    try await engine.verifyFreshness()
    try await accepted.verifyFreshness()
    _ = try await base.anchored(anchor)
  }

  @Test("A store without a key ring is refused if its anchor knows one, also where single keys are encrypted")
  func selective() async throws {
    let base = MemoryEngine()
    try await base.anchored(anchor).put("secret", "one")
    let plain = MemoryEngine()
    try await plain.put("secret", "planted")
    for store in [ReadOnlyEngine(MemoryEngine()), ReadOnlyEngine(plain), plain] as [any StorageEngine] {
      let selective = selective(store, anchor)
      let error = try await storageError { _ = try await selective.engineOfRing() }
      #expect(error.code == .rolledBack && error.message.contains("no key ring"), "\(error)")
      #expect(try await storageError { _ = try await selective.openIfPresent() }.code == .rolledBack)
    }
    // One that was never anchored.
    let never = selective(plain, MemoryAnchor())
    #expect(try await never.engineOfRing() == nil)
    let opened = try await never.openIfPresent()
    #expect(opened == nil)
  }

  private func selective(_ base: any StorageEngine, _ anchor: MemoryAnchor) -> SelectiveEncryption {
    SelectiveEncryption(
      base, configuration: .anchored(anchor), only: { $0 == "secret" }, key: { .file("/nowhere/key") })
  }

  @Test("What an erasure removes after an update of the anchor is anchored, also if the erasure fails")
  func erasure() async throws {
    let base = ErasedEngine()
    let engine = try await base.anchored(anchor)
    try await engine.put("key", "one")
    base.onErasure.withLock { $0 = { try await engine.flush() } }
    let error = try await storageError { try await engine.shred() }
    #expect(error.code == .diskFull)
    base.onErasure.withLock { $0 = nil }
    #expect(try anchored().revision < base.latestRevision)
    try await engine.flush()
    #expect(try anchored().revision == base.latestRevision)
  }
}

/// A store that calls something before values are deleted, and has no space for key rings afterwards.
private final class ErasedEngine: EngineDecorator {
  typealias Handler = @Sendable () async throws -> Void

  let base: any StorageEngine = MemoryEngine()
  let onErasure = Locked<Handler?>(nil)
  private let isErased = Locked(false)

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    if let handler = onErasure.withLock({ $0 }) {
      let erases = batch.operations.contains { if case .delete = $0 { true } else { false } }
      if erases {
        try await handler()
        isErased.withLock { $0 = true }
      }
      let changesRing = batch.operations.contains {
        if case .putRecord(.keyRing, _) = $0 { true } else { false }
      }
      guard !changesRing || !isErased.withLock({ $0 }) else {
        throw StorageError(.diskFull, "The store has no space.", location: description)
      }
    }
    return try await base.commit(batch, from: origin)
  }
}
