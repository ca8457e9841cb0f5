import CofferCore
import CofferEncryption
import Foundation
import Testing

@Suite struct KeyRingStoreTests {
  private let root: RootKey
  init() throws { root = try .forTests() }

  private func open(_ engine: any StorageEngine, _ missing: KeyRingStore.Missing = .create) async throws -> OpenKeyRing
  {
    try await KeyRingStore(engine).open(settings: EncryptionSettings(), ifMissing: missing) { _ in root }
  }

  /// The store takes nothing that does not begin like one.
  private let envelope = Data(SealedValue.magic)

  private func put(_ engine: any StorageEngine, _ operations: WriteBatch.Operation...) async throws {
    try await engine.commit(WriteBatch(operations), from: StoreOrigin())
  }

  @Test func anEmptyStoreReceivesARing() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    let second = try await open(engine, .refuse)
    #expect(first.ring == second.ring && first.revisions == second.revisions && first.ring.generation == 1)
    #expect(first.ring.phase == .complete)
    #expect(try await engine.record(.keyRing)?.content == engine.record(.keyRingCopy)?.content)
  }

  @Test func aStoreWithValuesReceivesNone() async throws {
    let engine = MemoryEngine()
    try await put(engine, .put("a", Data("1".utf8)))
    let error = try await storageError { _ = try await open(engine) }
    #expect(error.code == .keyUnavailable && error.location == "memory:memory")
    #expect(engine.latestRevision == StoreRevision(1))
    #expect(try await open(engine, .createForPlainValues).ring.phase == .encrypting)
  }

  @Test func aMissingRingIsAnErrorOnRequest() async throws {
    #expect(try await storageError { _ = try await open(MemoryEngine(), .refuse) }.code == .notFound)
    let error = try await storageError { _ = try await open(ReadOnlyEngine(MemoryEngine())) }
    #expect(error.code == .readOnly)
  }

  @Test func anEngineWithoutRecordsIsRefused() async throws {
    let engine = AdapterEngine(MemoryAdapter(), name: "adapter")
    #expect(try code { _ = try KeyRingStore(engine) } == .unsupported)
  }

  @Test func twoDamagedRecordsAreDamage() async throws {
    let engine = MemoryEngine()
    _ = try await open(engine)
    try await put(engine, .putRecord(.keyRing, Data()), .deleteRecord(.keyRingCopy))
    let error = try await storageError { _ = try await open(engine) }
    #expect(error.code == .damaged && error.location == "memory:memory")
    #expect(engine.latestRevision == StoreRevision(2))
  }

  @Test func aWrongRootKeyChangesNothing() async throws {
    let engine = MemoryEngine()
    _ = try await open(engine)
    try await put(engine, .putRecord(.keyRingCopy, Data()))
    let store = try KeyRingStore(engine)
    let error = try await storageError {
      _ = try await store.open(settings: EncryptionSettings()) { _ in try .forTests("other") }
    }
    #expect(error.code == .wrongPassphrase)
    #expect(engine.latestRevision == StoreRevision(2))
  }

  @Test func aPlantedRecordDoesNotReplaceTheRing() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    let planted = try KeyRing.create(settings: EncryptionSettings(), now: .now).sealed(under: .forTests("other"))
    try await put(engine, .putRecord(.keyRing, planted))
    #expect(try await open(engine).ring == first.ring)
  }

  /// A planted record with a larger generation and an excessive cost does not keep the intact one from being used.
  @Test func aPlantedCostDoesNotReplaceTheRing() async throws {
    let engine = MemoryEngine()
    let source = RootKeySource.passphrase(.provided { Data("words".utf8) }, cost: ScryptCost(logN: 10, r: 1, p: 1))
    let store = try KeyRingStore(engine)
    let first = try await store.open(with: source, settings: EncryptionSettings())
    var planted = try #require(try await engine.record(.keyRing)?.content).dropLast(32)
    planted[10] = 60
    planted[100] = 1
    planted += sha256(planted)
    try await put(engine, .putRecord(.keyRing, planted))
    #expect(try await store.open(with: source, settings: EncryptionSettings()).ring == first.ring)
  }

  @Test func theNewerOfTwoIntactRecordsCounts() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    let old = try #require(try await engine.record(.keyRing)?.content)
    let second = try await KeyRingStore(engine).update(first) { try $0.addPrimary(now: .now) }
    for name in SystemRecord.Name.keyRings {
      try await put(engine, .putRecord(name, old))
      #expect(try await open(engine).ring == second.ring)
    }
  }

  @Test func concurrentChangesAreAllMade() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<16 {
        group.addTask { _ = try await KeyRingStore(engine).update(first) { try $0.addPrimary(now: .now) } }
      }
      try await group.waitForAll()
    }
    let last = try await KeyRingStore(engine).reload(first)
    #expect(last.ring.entries.count == 17 && last.ring.generation == 17)
    #expect(last.ring.primary.id != first.ring.primary.id)
  }

  @Test func anotherRootKeyReplacesTheOld() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    let other = try RootKey.forTests("other")
    let store = try KeyRingStore(engine)
    let changed = try await store.update(first, under: other) { _ in }
    #expect(changed.ring.entries == first.ring.entries)
    #expect(try await storageError { _ = try await open(engine) }.code == .wrongPassphrase)
    let error = try await storageError { _ = try await store.reload(first) }
    #expect(error.code == .wrongPassphrase && error.message.contains("was changed while it was open"))
    #expect(try await store.open(settings: EncryptionSettings()) { _ in other }.ring == changed.ring)
  }

  @Test func aLabelThatIsChangedWhileTheStoreIsOpenAccusesNobody() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    let store = try KeyRingStore(engine)
    _ = try await store.update(first) { $0.label = "new" }
    let changed = try await storageError { _ = try await store.reload(first) }
    #expect(changed.code == .wrongLabel && changed.message.contains("'new'"), "\(changed)")
    #expect(changed.message.contains("was changed while") && !changed.advice.contains("somebody"), "\(changed)")
    // The ring of another store, which was put in place of this one.
    let other = MemoryEngine()
    _ = try await KeyRingStore(other).update(open(other)) { $0.label = "other" }
    let planted = try #require(try await other.record(.keyRing)?.content)
    try await put(engine, .putRecord(.keyRing, planted), .putRecord(.keyRingCopy, planted))
    let replaced = try await storageError { _ = try await store.reload(first) }
    #expect(replaced.code == .wrongLabel && replaced.advice.contains("somebody"), "\(replaced)")
  }

  @Test func aRingIsRemovedWithItsStore() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    let store = try KeyRingStore(engine)
    let second = try await store.update(first) { $0.phase = .decrypting }
    #expect(try await store.remove(first) == false)
    #expect(try await store.remove(second))
    #expect(try await storageError { _ = try await store.reload(second) }.code == .notFound)
    #expect(try await engine.record(.keyRingCopy) == nil)
  }

  @Test func aCommitDependsOnTheRing() async throws {
    let engine = MemoryEngine()
    let first = try await open(engine)
    try await engine.commit(WriteBatch(first.precondition + [.put("a", envelope)]), from: StoreOrigin())
    let second = try await KeyRingStore(engine).update(first) { try $0.addPrimary(now: .now) }
    let error = try await storageError {
      try await engine.commit(WriteBatch(first.precondition + [.put("b", envelope)]), from: StoreOrigin())
    }
    #expect(error.code == .preconditionFailed)
    try await engine.commit(WriteBatch(second.precondition + [.put("b", envelope)]), from: StoreOrigin())
  }
}
