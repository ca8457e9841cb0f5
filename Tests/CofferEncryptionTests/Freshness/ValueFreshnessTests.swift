import CofferCore
import CofferCrypto
import CofferEncryption
import CofferLocks
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Older copies of single values of a store that covers its values.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ValueFreshnessTests {
  private let base = MemoryEngine()
  private let anchor = MemoryAnchor()

  private func open(
    _ settings: EncryptionSettings = EncryptionSettings(), accepts: Bool = false
  ) async throws -> EncryptedEngine {
    try await base.anchored(anchor, settings, accepts: accepts, coversValues: true)
  }

  /// Returns a value as it is stored.
  private func stored(_ key: StoreKey) async throws -> StoreEntry { try #require(try await base.entry(key)) }

  /// Puts values back, as somebody who can write the store.
  private func restore(_ entries: StoreEntry...) async throws {
    try await base.commit(
      WriteBatch(entries.map { .put($0.key, $0.value, $0.attributes) }), from: StoreOrigin())
  }

  private func record() async throws -> Data {
    try #require(try await base.record(ValuesRecord.name)).content
  }

  private func restore(record: Data) async throws {
    try await base.commit(WriteBatch([.putRecord(ValuesRecord.name, record)]), from: StoreOrigin())
  }

  private func expectRolledBack(_ engine: EncryptedEngine, _ text: String) async throws {
    let error = try await storageError { try await engine.verifyFreshness() }
    #expect(error.code == .rolledBack && error.message.contains(text), "\(error)")
    let opening = try await storageError { _ = try await open() }
    #expect(opening.code == .rolledBack && opening.message.contains(text), "\(opening)")
    #expect(opening.advice.contains("acceptRollback"))
  }

  @Test("An older value, a removed one and one that was removed are refused until they are accepted")
  func oneValue() async throws {
    let engine = try await open()
    try await engine.put("key", "one")
    try await engine.put("other", "1")
    let (old, other) = (try await stored("key"), try await stored("other"))
    try await engine.put("key", "two")
    let new = try await stored("key")
    try await engine.flush()
    try await engine.verifyFreshness()
    try await restore(old)
    try await expectRolledBack(engine, "values: 2 of 2")
    try await restore(new)
    try await engine.verifyFreshness()
    try await base.commit(WriteBatch([.delete("other")]), from: StoreOrigin())
    try await expectRolledBack(engine, "values: 1 of 2")
    try await restore(other)
    try await engine.verifyFreshness()
    try await engine.commit(WriteBatch([.delete("other")]), from: StoreOrigin())
    try await engine.verifyFreshness()
    try await restore(other)
    try await expectRolledBack(engine, "values: 2 of 1")
    // Another older value.
    try await engine.commit(WriteBatch([.delete("other")]), from: StoreOrigin())
    try await restore(old)
    let accepted = try await open(accepts: true)
    #expect(try await accepted.text("key") == "one")
    try await accepted.verifyFreshness()
    try await open().put("key", "three")
    try await open().verifyFreshness()
  }

  @Test("An older value is refused after it was replaced again, and not by its own replacement")
  func replacedAgain() async throws {
    let engine = try await open()
    try await engine.put("key", "one")
    let old = try await stored("key")
    try await engine.put("key", "two")
    try await restore(old)
    try await engine.put("key", "three")
    try await expectRolledBack(engine, "a value was replaced")
  }

  @Test("An older value together with the older record of the values is refused")
  func olderRecord() async throws {
    let engine = try await open()
    try await engine.put("key", "one")
    try await engine.flush()
    let (old, record) = (try await stored("key"), try await record())
    try await engine.put("key", "two")
    try await engine.flush()
    let (new, newRecord) = (try await stored("key"), try await self.record())
    try await restore(old)
    try await restore(record: record)
    try await expectRolledBack(engine, "the record of its values is an older one")
    // A later commit of a handle that does not know of it does not hide it.
    try await base.encrypted().put("third", "3")
    try await expectRolledBack(engine, "the record of its values is an older one")
    try await restore(new)
    try await restore(record: newRecord)
    try await base.commit(WriteBatch([.delete("third")]), from: StoreOrigin())
    try await engine.verifyFreshness()
    try await base.commit(WriteBatch([.deleteRecord(ValuesRecord.name)]), from: StoreOrigin())
    try await expectRolledBack(engine, "the record of its values was removed")
  }

  @Test("After an older copy was accepted, what was discarded is refused")
  func discarded() async throws {
    let engine = try await open()
    try await engine.put("key", "one")
    try await engine.flush()
    let (old, oldRecord) = (try await stored("key"), try await record())
    try await engine.put("key", "two")
    try await engine.flush()
    let (new, newRecord) = (try await stored("key"), try await record())
    try await restore(old)
    try await restore(record: oldRecord)
    let accepted = try await open(accepts: true)
    #expect(try await accepted.text("key") == "one")
    try await restore(new)
    try await restore(record: newRecord)
    try await expectRolledBack(accepted, "the record of its values is an older one, or another one")
  }

  @Test("Every bit of the record of the values is damage, which a commit does not hide and accepting mends")
  func damagedRecord() async throws {
    let engine = try await open()
    try await engine.put("key", "one")
    try await engine.flush()
    let record = try await record()
    for bit in 0..<record.count * 8 {
      var changed = record
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      try await restore(record: changed)
      let error = try await storageError { _ = try await open() }
      #expect([.damaged, .newerFormat].contains(error.code), "bit \(bit): \(error)")
    }
    for count in 0..<record.count {
      try await restore(record: Data(record.prefix(count)))
      #expect(try await storageError { _ = try await open() }.code == .damaged)
    }
    // Without the anchor the store can be written still.
    let writer = try await base.encrypted()
    try await writer.put("key", "two")
    #expect(try await writer.text("key") == "two")
    let lost = try await storageError { try await engine.verifyFreshness() }
    #expect(lost.code == .damaged && lost.message.contains("counted anew"), "\(lost)")
    #expect(try await storageError { _ = try await open() }.code == .damaged)
    try await open(accepts: true).verifyFreshness()
    _ = try await open()
  }

  @Test("Handles without the anchor and older handles keep the record", arguments: [EncryptionSettings(), .hidden])
  func otherHandles(_ settings: EncryptionSettings) async throws {
    let early = try await base.encrypted(settings)
    try await early.put("before", "0")
    let engine = try await open(settings)
    try await early.put("early", "1")
    try await early.commit(WriteBatch([.delete("before")]), from: StoreOrigin())
    let late = try await base.encrypted(settings)
    try await late.put("late", "2")
    try await late.commit(WriteBatch([.clear(prefix: "ear")]), from: StoreOrigin())
    try await engine.verifyFreshness()
    let summaries = try await base.summaries()
    #expect(summaries.count == 1)
    // Nobody sees the attribute or the record.
    #expect(try await late.entry("late")?.attributes == ValueAttributes.none)
    #expect(try await late.summary(of: "late")?.attributes == ValueAttributes.none)
    let commit = try await late.put("late", "3")
    #expect(commit.changed == StoreSelection(keys: ["late"]))
    #expect(late.recentCommits(after: StoreRevision(commit.revision.rawValue - 1)) == [commit])
  }

  @Test("Values from before the record are noticed missing, and covered after a rotation")
  func earlierValues() async throws {
    let early = try await base.encrypted()
    try await early.put("key", "zero")
    let zero = try await stored("key")
    try await early.put("key", "one")
    let one = try await stored("key")
    let engine = try await open()
    try await engine.verifyFreshness()
    try await base.commit(WriteBatch([.delete("key")]), from: StoreOrigin())
    try await expectRolledBack(engine, "values: 0 of 1")
    try await restore(zero)
    try await engine.verifyFreshness()  // not covered yet
    try await restore(one)
    #expect(try await engine.rotate().result().isComplete)
    try await engine.verifyFreshness()
    try await restore(one)
    try await expectRolledBack(engine, "a value was replaced")
  }

  @Test("Values that expire are not covered, and their removal is no alarm")
  func expiry() async throws {
    let engine = try await open()
    var attributes = ValueAttributes()
    attributes.expires = Date(timeIntervalSinceNow: 3_600)
    try await engine.put("token", "t", attributes)
    try await engine.verifyFreshness()
    try await base.commit(WriteBatch([.delete("token")]), from: StoreOrigin())
    try await engine.verifyFreshness()
    try await engine.put("token", "for good")
    try await engine.verifyFreshness()
    var stored = try await stored("token").attributes
    stored.expires = Date(timeIntervalSinceNow: 3_600)
    let value = try await self.stored("token").value
    try await base.commit(WriteBatch([.put("token", value, stored)]), from: StoreOrigin())
    try await expectRolledBack(engine, "values: 0 of 1")
  }

  @Test("Rotating, erasing, decrypting and encrypting again give no alarm", arguments: [EncryptionSettings(), .hidden])
  func upkeep(_ settings: EncryptionSettings) async throws {
    let engine = try await open(settings)
    for number in 0..<20 { try await engine.put(.known("k\(number)"), "\(number)") }
    #expect(try await engine.rotate().result().isComplete)
    try await engine.verifyFreshness()
    #expect(try await engine.encryptPlainValues().result().isComplete)
    try await engine.verifyFreshness()
    #expect(try await engine.shred().values == 20)
    try await engine.verifyFreshness()
    try await engine.put("after", "1")
    try await open(settings).verifyFreshness()
    _ = try await engine.decrypt().result()
    #expect(try await base.record(ValuesRecord.name) == nil)
    #expect(try await base.entry("after")?.attributes == ValueAttributes.none)
    var configuration = EncryptionConfiguration.anchored(anchor, settings, coversValues: true)
    configuration.acceptsUnfinished = true
    let again = try await EncryptedEngine.open(
      base, ifMissing: .createForPlainValues, configuration: configuration
    ) { _ in try .forTests() }
    // It begins once the store is encrypted.
    #expect(try await base.record(ValuesRecord.name) == nil)
    _ = try await again.encryptPlainValues().result()
    try await again.flush()
    let covered = try await open(settings)
    #expect(try await base.record(ValuesRecord.name) != nil)
    try await covered.verifyFreshness()
  }

  @Test("A store that is read only is compared, and nothing is written")
  func readOnly() async throws {
    let plain = try await base.encrypted()
    try await plain.put("key", "zero")
    _ = try await ReadOnlyEngine(base).anchored(anchor, coversValues: true)
    #expect(try await base.record(ValuesRecord.name) == nil)
    let engine = try await open()
    try await engine.put("key", "one")
    try await engine.flush()
    let old = try await stored("key")
    try await engine.put("key", "two")
    let revision = base.latestRevision
    let reader = try await ReadOnlyEngine(base).anchored(anchor)
    try await reader.verifyFreshness()
    #expect(base.latestRevision == revision)
    try await restore(old)
    #expect(try await storageError { try await reader.verifyFreshness() }.code == .rolledBack)
    #expect(try await storageError { _ = try await ReadOnlyEngine(base).anchored(anchor) }.code == .rolledBack)
  }

  @Test("Single encrypted keys cannot be covered, and a store without an anchor is not compared")
  func refused() async throws {
    var configuration = EncryptionConfiguration.anchored(anchor, coversValues: true)
    configuration.isEncrypted = { $0 == "secret" }
    let error = try await storageError {
      _ = try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
    }
    #expect(error.code == .unsupported && error.advice.contains("coversValues"))
    #expect(try await base.record(KeyRingStore.record) == nil)
    let declared = try await base.encrypted(only: { $0 == "secret" })
    try await declared.put("secret", "1")
    #expect(try await storageError { _ = try await open() }.code == .unsupported)
    let other = try await MemoryEngine().encrypted()
    #expect(try await storageError { try await other.verifyFreshness() }.code == .unsupported)
  }

  @Test("Submitted batches and commits of many tasks keep the record, and a cancelled one writes nothing")
  func concurrent() async throws {
    let (one, two) = (try await open(), try await open(.hidden))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        let engine = number % 3 == 0 ? two : one
        group.addTask { try await engine.put(.known("k\(number % 9)"), "\(number)") }
        group.addTask {
          try await withCheckedThrowingContinuation { done in
            engine.submit(WriteBatch([.delete(.known("k\(number % 4)"))]), from: StoreOrigin()) {
              done.resume(with: $0.map { _ in })
            }
          }
        }
      }
      for _ in 0..<20 {
        let cancelled = Task { try await one.put("cancelled", "1") }
        cancelled.cancel()
        _ = await cancelled.result
      }
      try await group.waitForAll()
    }
    try await one.verifyFreshness()
    try await open().verifyFreshness()
  }

  @Test("No history of commits gives an alarm, and each change by somebody else does", arguments: 0..<12)
  func histories(_ seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let settings = seed % 2 == 0 ? EncryptionSettings() : EncryptionSettings.hidden
    var engine = try await open(settings)
    for _ in 0..<(isProving ? 2_000 : 60) {
      var batch = WriteBatch()
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let prefix = ["a", "b", "ab"].randomElement(using: &random) ?? "a"
        let key = StoreKey.known("\(prefix)/\(Int.random(in: 0..<4, using: &random))")
        switch Int.random(in: 0..<10, using: &random) {
        case 0: batch.clear(prefix: "a/")
        case 1: batch.clear(prefix: Bool.random(using: &random) ? nil : "a")
        case 2, 3: batch.delete(key)
        case 4:
          var attributes = ValueAttributes()
          attributes.expires = Date(timeIntervalSinceNow: Bool.random(using: &random) ? 600 : -600)
          batch.put(key, Data("expires".utf8), attributes)
        default: batch.put(key, Data("value".utf8))
        }
      }
      try await engine.commit(batch, from: StoreOrigin())
      if Int.random(in: 0..<5, using: &random) == 0 {
        try await engine.verifyFreshness()
        engine = try await open(settings)
      }
    }
    try await engine.verifyFreshness()
    // Each value that does not expire is covered.
    try await engine.put("last", "1")
    for summary in try await base.summaries() where summary.attributes.expires == nil {
      let entry = try await stored(summary.key)
      try await base.commit(WriteBatch([.delete(summary.key)]), from: StoreOrigin())
      #expect(try await storageError { try await engine.verifyFreshness() }.code == .rolledBack)
      try await restore(entry)
      try await engine.verifyFreshness()
    }
  }
}
