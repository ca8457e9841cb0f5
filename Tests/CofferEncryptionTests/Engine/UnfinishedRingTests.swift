import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A key ring of the time when a store was being encrypted or decrypted, which somebody may have put back.
@Suite struct UnfinishedRingTests {
  private static let phases = [KeyRing.Phase.encrypting, .decrypting]
  private let base = MemoryEngine()

  @Test(
    "A store does not open while its ring is unfinished, and an open handle stores and returns nothing",
    arguments: phases)
  func refused(_ phase: KeyRing.Phase) async throws {
    let engine = try await base.encrypted()
    try await engine.put("sealed", "1")
    try await base.plant("planted", "2")
    try await base.changeRing { $0.phase = phase }
    let before = base.latestRevision
    for _ in 0..<2 {
      let error = try await storageError { _ = try await base.encrypted() }
      #expect(error.code == .encryptionUnfinished && error.advice.contains("older key ring"), "\(error)")
      #expect(error.message.contains(phase == .decrypting ? "decryption" : "encryption"))
      await expectStorageError(.encryptionUnfinished) { _ = try await engine.text("planted") }
      await expectStorageError(.encryptionUnfinished) { try await engine.put("token", "s3cret") }
      await expectStorageError(.encryptionUnfinished) { _ = try await engine.rotate() }
      await expectStorageError(.encryptionUnfinished) { try await engine.shred() }
    }
    await expectStorageError(.encryptionUnfinished) { _ = try await ReadOnlyEngine(base).encrypted() }
    #expect(base.latestRevision == before)
    try await base.changeRing { $0.phase = .complete }
    try await engine.put("token", "s3cret")
    #expect(try await base.entry("token")?.attributes.isMarked == true)
  }

  @Test("What was begun is finished or turned back", arguments: phases, [EncryptionSettings(), .hidden, .secret])
  func continued(_ phase: KeyRing.Phase, _ settings: EncryptionSettings) async throws {
    let engine = try await base.encrypted(settings)
    for number in 0..<10 { try await engine.put(.known("k/\(number)"), "\(number)") }
    try await base.changeRing { $0.phase = phase }
    // A value that has its plain form already, or still.
    try await base.plant("plain", "p")
    let report = phase == .encrypting ? try await base.encrypting(settings) : try await base.decrypting()
    #expect(report.isComplete && report.changedValues == (phase == .encrypting ? 1 : 10))
    if phase == .decrypting {
      #expect(try await base.text("k/1") == "1")
      #expect(try await base.record(.keyRing) == nil)
      return
    }
    #expect(report.unexpectedValues == nil)
    let again = try await base.encrypted()
    #expect(try await again.text("plain") == "p")
    // The other way.
    try await base.changeRing { $0.phase = .decrypting }
    #expect(try await base.encrypting().changedValues == 0)
    #expect(try await again.summaries().count == 11)
    #expect(try await base.summaries().allSatisfy { $0.attributes.isMarked })
  }

  @Test("A store whose names are hidden is not encrypted beside a plain value of the same name")
  func twice() async throws {
    let engine = try await base.encrypted(.hidden)
    try await engine.put("key", "sealed")
    try await base.plant("key", "plain")
    let report = try await base.encrypting()
    #expect(report.failures.map(\.error.code) == [.busy] && report.failures.map(\.key) == ["key"], "\(report)")
    await expectStorageError(.encryptionUnfinished) { _ = try await base.encrypted() }
    try await base.commit(WriteBatch([.delete("key")]), from: StoreOrigin())
    #expect(try await base.encrypting().isComplete)
    #expect(try await base.encrypted().text("key") == "sealed")
  }

  @Test("An encryption ends beside a value that cannot be read", arguments: [EncryptionSettings(), .hidden])
  func besideUnreadable(_ settings: EncryptionSettings) async throws {
    let engine = try await base.encrypted(settings)
    try await engine.put("bad", "1")
    let stored = try #require(
      try await base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1) }.first)
    try await base.commit(
      WriteBatch([.put(stored.key, stored.value.prefix(8), stored.attributes)]), from: StoreOrigin())
    try await base.plant("plain", "2")
    let report = try await base.encrypting()
    #expect(report.failures.count == 1 && report.changedValues == 1)
    #expect(try await base.encrypted().text("plain") == "2")
    await expectStorageError(.damaged) { _ = try await engine.text("bad") }
  }
}
