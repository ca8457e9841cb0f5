import CofferCore
import CofferCrypto
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// The number of values that a key has encrypted is recorded in the key ring, and retires the key in time.
@Suite(.timeLimit(.minutes(5))) struct KeyUseTests {
  private let recorder = EventRecorder()
  private let base: MemoryEngine
  init() { base = MemoryEngine(events: recorder.events) }

  private func open(
    _ base: any StorageEngine, record: UInt64 = 65_536, maximum: UInt64 = 1 << 31
  ) async throws -> EncryptedEngine {
    var configuration = EncryptionConfiguration()
    (configuration.usesPerRecord, configuration.maximumUses) = (record, maximum)
    return try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
  }

  private func ring() async throws -> KeyRing {
    try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }.ring
  }

  /// Waits until a ring fulfils a condition, and writes a value before each look if an engine is given.
  private func ring(
    writing key: StoreKey = "k", to engine: EncryptedEngine? = nil, where isReached: (KeyRing) -> Bool
  ) async throws -> KeyRing {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let ring = try await ring()
      if isReached(ring) { return ring }
      try #require(ContinuousClock.now < deadline, "\(ring.entries.map(\.uses))")
      try await engine?.put(key, "again")
      await Task.yield()
    }
  }

  @Test("Uses are recorded in batches and when the store is closed")
  func recording() async throws {
    let engine = try await open(OpenEngine(base), record: 32)
    let other = try await open(OpenEngine(base), record: 32)
    for number in 0..<31 { try await engine.put("k", "\(number)") }
    for number in 0..<31 { try await other.put("other", "\(number)") }
    #expect(try await ring().entries.map(\.uses) == [0])
    #expect(try await ring().generation == 1)
    try await engine.put("k", "31")
    let first = try await ring { $0.entries[0].uses >= 32 }
    #expect(first.entries[0].uses == 32 && first.generation == 2)
    // A commit that is repeated under a newer ring seals its values again.
    try await other.put("other", "31")
    let second = try await ring { $0.entries[0].uses >= 64 }
    #expect(second.generation == 3 && (64...65).contains(second.entries[0].uses))
    // What a handle records when it is closed is at least a sixteenth of a batch: one value is not.
    let third = try await open(OpenEngine(base), record: 32)
    try await third.put("k", "32")
    try await third.close()
    #expect(try await ring().generation == 3)
    try await third.put("k", "33")
    try await third.close()
    #expect(try await ring().generation == 4)
    #expect(try await ring().entries[0].uses == second.entries[0].uses + 2)
  }

  @Test("A store that was only read is not written when it is closed")
  func reading() async throws {
    let first = MemoryEngine()
    try await open(first).put("k", "1")
    let revision = first.latestRevision
    for base in [OpenEngine(first), ReadOnlyEngine(OpenEngine(first))] as [any StorageEngine] {
      let engine = try await open(base)
      #expect(try await engine.text("k") == "1")
      try await engine.close()
    }
    #expect(first.latestRevision == revision)
  }

  @Test("A key that has reached its limit is retired, and its values stay readable")
  func limit() async throws {
    let engine = try await open(base, record: 5, maximum: 10)
    let first = try await ring().primary.id
    for number in 0..<10 { try await engine.put(.known("k/\(number)"), "\(number)") }
    // A count that is recorded late contains values of the next batch, which is then full later.
    let ring = try await ring(writing: "more", to: engine) { $0.entries.count == 2 }
    #expect(ring.entries.map(\.state) == [.retired, .primary] && ring.entries[0].id == first)
    #expect(ring.entries[0].uses >= 10)
    try await engine.put("new", "value")
    for number in 0..<10 { #expect(try await engine.text(.known("k/\(number)")) == "\(number)") }
    let event = try await recorder.first { if case .keysReplaced = $0.kind { true } else { false } }
    guard case .keysReplaced(let replacement) = event.kind else { return }
    #expect(replacement.reason == .limit && replacement.primaryKey == ring.primary.id.short)
    // A rotation removes it. That of the engine with the low limit would retire its own key.
    let other = try await open(base)
    #expect(try await other.rotate().result().removedKeys.count == 1)
    for number in 0..<10 { #expect(try await engine.text(.known("k/\(number)")) == "\(number)") }
  }

  @Test("A store that cannot be written loses no count, and the next record has it")
  func failing() async throws {
    let faulty = FaultInjectingEngine(base)
    let engine = try await open(faulty, record: 4)
    for number in 0..<3 { try await engine.put("k", "\(number)") }
    faulty.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, at: 2)
    try await engine.put("k", "3")
    let deadline = ContinuousClock.now + .seconds(30)
    while faulty.count(of: .commit) < 6 {
      try #require(ContinuousClock.now < deadline)
      await Task.yield()
    }
    #expect(try await ring().entries[0].uses == 0)
    #expect(try await ring(writing: "k", to: engine) { $0.entries[0].uses >= 8 }.entries[0].uses >= 8)
  }
}

/// An engine that stays open when it is closed.
final class OpenEngine: EngineDecorator {
  let base: any StorageEngine
  init(_ base: any StorageEngine) { self.base = base }
  func close() async throws {}
}
