import Coffer
import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Replaces the keys of stores, and encrypts and decrypts stores that hold values.
@Suite(.timeLimit(.minutes(10))) struct RotationTests {
  private static let count = 40
  private let directory: TemporaryDirectory
  private let clock = SettableClock()

  init() throws { directory = try TemporaryDirectory() }

  private func base(_ kind: TestedStore) async throws -> any StorageEngine {
    try await kind.open(in: directory.url, StoreOptions(clock: clock.storeClock))
  }

  /// Stores values with and without attributes, one of which has expired afterwards.
  private func fill(_ engine: any StorageEngine) async throws {
    var batch = WriteBatch()
    for number in 0..<Self.count { batch.put(.known("k/\(number)"), Data("value \(number)".utf8)) }
    try await engine.commit(batch, from: StoreOrigin())
    var attributes = ValueAttributes()
    attributes[ValueAttribute<UInt64>(applicationCode: 128)] = 7
    try await engine.put("attributed", "a", attributes)
    attributes.expires = clock.now + 3_600
    try await engine.put("dated", "d", attributes)
    attributes.expires = clock.now + 1
    try await engine.put("expired", "e", attributes)
    clock.advance(by: 2)
  }

  private func check(_ engine: any StorageEngine) async throws {
    for number in 0..<Self.count { #expect(try await engine.text(.known("k/\(number)")) == "value \(number)") }
    let code = ValueAttribute<UInt64>(applicationCode: 128)
    #expect(try await engine.entry("attributed")?.attributes[code] == 7)
    #expect(try await engine.entry("dated")?.attributes.expires == clock.now + 3_598)
    #expect(try await engine.entry("expired") == nil)
    #expect(try await engine.summaries(prefix: "k/").count == Self.count)
  }

  /// The ids of the keys that the store's envelopes name, with those of expired values.
  private func keys(in base: any StorageEngine) async throws -> Set<KeyID> {
    let entries = try await base.withAllStored { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
    return Set(try entries.map { try EnvelopeHeader(of: $0.value).keyID })
  }

  private func ring(of base: any StorageEngine) async throws -> KeyRing {
    try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }.ring
  }

  // Requirement 4.49
  @Test(
    "Afterwards each envelope has the new key, and the old one opens nothing",
    arguments: TestedStore.with(.plain), [EncryptionSettings(), .secret])
  func newKey(_ kind: TestedStore, _ settings: EncryptionSettings) async throws {
    let base = try await base(kind)
    let engine = try await base.encrypted(settings)
    try await fill(engine)
    let old = try await ring(of: base)
    let rotation = try await engine.rotate()
    let report = try await rotation.result()
    #expect(report.isComplete && report.removedKeys == [old.primary.id.short])
    #expect(report.changedValues == Self.count + 3 && report.values >= Self.count + 2, "\(report)")
    let new = try await ring(of: base)
    #expect(new.entries.map(\.id) == [new.primary.id] && new.primary.id != old.primary.id)
    #expect(try await keys(in: base) == [new.primary.id])
    #expect(report.primaryKey == new.primary.id.short)
    try await check(engine)
    try await engine.close()
    guard kind != .memory else { return }
    let reopened = try await self.base(kind).encrypted(settings)
    try await check(reopened)
    try await reopened.close()
  }

  // Requirement 4.49
  @Test(
    "Values that other handles write meanwhile are kept and have the new key", arguments: [TestedStore.sqlite, .file])
  func duringWrites(_ kind: TestedStore) async throws {
    let engine = try await base(kind).encrypted()
    let other = try await base(kind).encrypted()
    try await fill(engine)
    let writer = Task {
      for number in 0..<200 { try await other.put(.known("k/\(number % 50)"), "new \(number)") }
    }
    let report = try await engine.rotate().result()
    try await writer.value
    #expect(report.isComplete)
    for number in 150..<200 { #expect(try await engine.text(.known("k/\(number % 50)")) == "new \(number)") }
    #expect(try await keys(in: engine.base).count == 1)
    #expect(try await ring(of: engine.base).entries.count == 1)
    try await other.close()
    try await engine.close()
  }

  @Test("The next rotation removes the key of an interrupted one, too")
  func interrupted() async throws {
    let engine = try await base(.sqlite).encrypted()
    try await fill(engine)
    try await engine.base.changeRing { try $0.addPrimary(now: clock.now) }
    try await engine.put("k/1", "value 1")
    #expect(try await keys(in: engine.base).count == 2)
    try await check(engine)
    let report = try await engine.rotate().result()
    #expect(report.changedValues == Self.count + 3 && report.removedKeys.count == 2)
    let final = try await ring(of: engine.base)
    #expect(final.entries.count == 1)
    #expect(try await keys(in: engine.base) == [final.primary.id])
    try await engine.close()
  }

  @Test("Of two rotations at once the later one ends, with one key")
  func twoAtOnce() async throws {
    let engine = try await base(.sqlite).encrypted()
    let other = try await base(.sqlite).encrypted()
    try await fill(engine)
    async let first = outcome(of: engine)
    async let second = outcome(of: other)
    let codes = try await [first, second]
    // One may have ended before the other one began.
    #expect(codes.contains(nil) && codes.allSatisfy { $0 == nil || $0 == .busy }, "\(codes)")
    let final = try await ring(of: engine.base)
    #expect(final.entries.count == 1)
    #expect(try await keys(in: engine.base) == [final.primary.id])
    try await check(engine)
    try await check(other)
    try await other.close()
    try await engine.close()
  }

  /// Rotates the keys, and returns the code of the error.
  private func outcome(of engine: EncryptedEngine) async throws -> StorageError.Code? {
    do { #expect(try await engine.rotate().result().isComplete) } catch let error as StorageError { return error.code }
    return nil
  }

  // Requirement 4.49
  @Test(
    "A store with values is encrypted, and decrypted again",
    arguments: TestedStore.with(.plain), [EncryptionSettings(), .secret])
  func onAndOff(_ kind: TestedStore, _ settings: EncryptionSettings) async throws {
    let base = try await base(kind)
    try await fill(base)
    let report = try await base.encrypting(settings)
    #expect(report.isComplete && report.goal == .encryption)
    let engine = try await base.encrypted()
    try await check(engine)
    #expect(try await keys(in: base).count == 1)
    try await base.plant("planted", "x")
    let error = try await storageError {
      if settings.hidesNames { _ = try await engine.summaries() } else { _ = try await engine.entry("planted") }
    }
    #expect(error.code == (settings.hidesNames ? .damaged : .notEncrypted))
    try await base.commit(WriteBatch([.delete("planted")]), from: StoreOrigin())
    let decryption = try await base.decrypting()
    #expect(decryption.isComplete && decryption.primaryKey == nil)
    try await check(base)
    #expect(try await base.record(.keyRing) == nil)
    try await engine.close()
  }

  @Test("A value that does not open stays, and so does the key that it may need")
  func damaged() async throws {
    let base = try await base(.sqlite)
    let engine = try await base.encrypted()
    try await fill(engine)
    let old = try await ring(of: base)
    let stored = try #require(try await base.entry("k/3"))
    var changed = stored.value
    changed[changed.count - 1] ^= 1
    try await base.commit(WriteBatch([.put("k/3", changed, stored.attributes)]), from: StoreOrigin())
    let report = try await engine.rotate().result()
    #expect(!report.isComplete && report.failures.map(\.key) == ["k/3"] && report.removedKeys == [])
    #expect(try await ring(of: base).keys[old.primary.id] != nil)
    #expect(try await base.entry("k/3")?.value == changed)
    try await engine.put("k/3", "value 3")
    let second = try await engine.rotate().result()
    #expect(second.isComplete && second.removedKeys.contains(old.primary.id.short) && second.removedKeys.count == 2)
    try await check(engine)
    try await engine.close()
  }

  @Test("The progress reaches the number of values, and its streams end")
  func progress() async throws {
    let engine = try await base(.memory).encrypted()
    try await fill(engine)
    let rotation = try await engine.rotate()
    let updates = rotation.updates
    var latest: KeyRotation.State?
    for await update in updates { latest = update }
    let last = try #require(latest)
    _ = try await rotation.result()
    #expect(last.isFinished && last.values >= last.totalValues - 1 && last.changedValues == Self.count + 3)
    #expect(rotation.progress.fractionCompleted > 0.9)
    var late = rotation.updates.makeAsyncIterator()
    #expect(await late.next()?.isFinished == true)
    #expect(await late.next() == nil)
    try await engine.close()
  }

  @Test("A cancelled rotation is continued by the next one")
  func cancelled() async throws {
    let engine = try await base(.sqlite).encrypted()
    try await fill(engine)
    let rotation = try await engine.rotate()
    rotation.progress.cancel()
    _ = try? await rotation.result()
    try await check(engine)
    #expect(try await engine.rotate().result().isComplete)
    #expect(try await ring(of: engine.base).entries.count == 1)
    try await check(engine)
    try await engine.close()
  }

  @Test("An encryption frees the files of the plain values", arguments: [TestedStore.sqlite, .file])
  func freesPlainValues(_ kind: TestedStore) async throws {
    let base = try await base(kind)
    let plain = Data("a plain value that must not be found".utf8)
    for number in 0..<100 { try await base.put(.known("k/\(number)"), String(decoding: plain, as: UTF8.self)) }
    try await base.commit(WriteBatch([.delete("k/7")]), from: StoreOrigin())
    let hasPlainValue = {
      let files = FileManager.default.enumerator(at: directory.url, includingPropertiesForKeys: nil)?.allObjects ?? []
      return files.contains { file in
        (file as? URL).flatMap { try? Data(contentsOf: $0) }?.range(of: plain) != nil
      }
    }
    #expect(hasPlainValue())
    #expect(try await base.encrypting().isScrubbed)
    #expect(!hasPlainValue())
    try await base.close()
  }
}
