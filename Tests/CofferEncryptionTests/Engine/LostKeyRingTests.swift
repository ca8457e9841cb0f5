import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferVault
import Foundation
import Testing

/// Tests of stores with envelopes and without a key ring, which are read and written without encryption.
@Suite(.serialized) final class LostKeyRingTests {
  let directory = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-lost-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: directory) }

  /// A value that is stored in its row, and one that is not.
  private static let sizes = [1, 4_000]

  /// Opens a store whose records of the key ring were deleted.
  private func lost(_ store: TestedStore) async throws -> any StorageEngine {
    let base = try await store.open(in: directory)
    let engine = try await base.encrypted()
    for size in Self.sizes { try await engine.put(.known("secret\(size)"), String(repeating: "s", count: size)) }
    let batch = WriteBatch([.deleteRecord(.keyRing), .deleteRecord(.keyRingCopy)])
    try await base.commit(batch, from: StoreOrigin())
    return base
  }

  @Test(arguments: TestedStore.with(.plain)) func noDoorReadsOrReplacesAnEnvelope(_ store: TestedStore) async throws {
    let base = try await lost(store)
    let typed = TypedStore(engine: base)
    let vault = EngineVaultService(engine: base)
    for size in Self.sizes {
      let key = KeyName.known("secret\(size)")
      let before = try await base.entry(key)
      await expectStorageError(.keyUnavailable) { _ = try await typed.load(Data.self, for: key) }
      await expectStorageError(.keyUnavailable) { _ = try await typed.load(String.self, for: key) }
      await #expect(throws: (any Error).self) { _ = try await vault.loadData(forKey: key.string) }
      for value in ["short", String(repeating: "long ", count: 1_000)] {
        await expectStorageError(.keyUnavailable, contains: "key ring was lost") {
          try await typed.save(value, for: key)
        }
        await expectStorageError(.keyUnavailable) { try await base.put(key, value) }
      }
      #expect(try await base.entry(key) == before)
    }
    // A batch is refused as a whole, and other values can be written.
    let batch = WriteBatch([.put("other", Data("1".utf8)), .put("secret1", Data("2".utf8))])
    await expectStorageError(.keyUnavailable) { try await base.commit(batch, from: StoreOrigin()) }
    #expect(try await base.entry("other") == nil)
    try await base.put("other", "1")
    await expectStorageError(.keyUnavailable, contains: "key ring was lost") { _ = try await base.encrypted() }
    // To remove a value is to give it up.
    try await base.commit(WriteBatch([.delete("secret1")]), from: StoreOrigin())
    try await base.put("secret1", "new")
    #expect(try await typed.load(Data.self, for: "secret1") != nil)
    try await base.close()
  }

  /// Decrypting replaces envelopes with plain values, while there is a ring.
  @Test(arguments: TestedStore.with(.plain)) func aStoreWithItsRingIsDecrypted(_ store: TestedStore) async throws {
    let base = try await store.open(in: directory)
    let engine = try await base.encrypted()
    try await engine.put("secret", "s")
    try await engine.put("secret", "t")
    #expect(try await engine.text("secret") == "t")
    #expect(try await base.decrypting().isComplete)
    #expect(try await base.text("secret") == "t")
    try await base.close()
  }

  /// An application that encrypts by itself keeps envelopes as values.
  @Test(arguments: [TestedStore.file, .prefs]) func envelopesOfAnApplicationAreReplaced(_ store: TestedStore)
    async throws
  {
    var base = try await store.open(in: directory)
    let value = Data(SealedValue.magic) + Data(repeating: 7, count: 90)
    try await base.commit(WriteBatch([.put("own", value)]), from: StoreOrigin())
    #expect(try await TypedStore(engine: base).load(Data.self, for: "own") == value)
    try await base.close()
    let control = store == .file ? "files/.coffer" : ".coffer-preferences"
    try FileManager.default.removeItem(at: directory.appendingPathComponent(control))
    base = try await store.open(in: directory)
    await expectStorageError(.keyUnavailable) { _ = try await TypedStore(engine: base).load(Data.self, for: "own") }
    await expectStorageError(.keyUnavailable) { try await base.put("own", "plain") }
    try await base.commit(WriteBatch([.put("own", value)]), from: StoreOrigin())
    #expect(try await TypedStore(engine: base).load(Data.self, for: "own") == value)
    try await base.close()
  }

  /// A statement that is refused leaves a transaction that can go on.
  @Test func aTransactionContinuesAfterARefusedPut() async throws {
    let base = try await lost(.sqlite)
    let engine = try #require(base as? SQLiteEngine)
    for size in Self.sizes {
      let key = KeyName.known("secret\(size)")
      let before = try await engine.entry(key)
      _ = try await engine.transact(TransactionHeader(origin: StoreOrigin(), durability: .full)) { transaction in
        for value in [Data([1]), Data(repeating: 1, count: 5_000)] {
          #expect(throws: StorageError.self) { try transaction.put(key, value) }
        }
        try transaction.put("after", Data([2]))
      }
      #expect(try await engine.entry(key) == before)
    }
    let report = try await engine.verify()
    #expect(report.isWhole, "\(report)")
    try await base.close()
  }
}
