import CofferCore
import CofferEncryption
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite("Values of an encrypted store") struct EncryptedValueTests {
  private let base = MemoryEngine()
  private let number = ValueAttribute<UInt64>(applicationCode: 200)

  private func expectDamaged(_ key: KeyName, in engine: EncryptedEngine, _ text: String = "does not open") async {
    await expect(text == "in plain" ? .notEncrypted : .damaged, text, of: key, in: engine)
  }

  private func expect(
    _ code: StorageError.Code, _ text: String, of key: KeyName, in engine: EncryptedEngine
  ) async {
    let error = await expectStorageError(code, contains: text, at: "memory:") { _ = try await engine.entry(key) }
    #expect(error?.key == key)
    await expectStorageError(code) { _ = try await engine.withSnapshot { try await $0.entries([key]) } }
  }

  private func onlyEntry(_ base: any StorageEngine) async throws -> StoreEntry {
    try #require(try await base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 2) }.first)
  }

  @Test(arguments: [EncryptionSettings(), .hidden, .secret])
  func everyChangedByteIsNoticed(_ settings: EncryptionSettings) async throws {
    let engine = try await base.encrypted(settings)
    try await engine.put("key", "the value")
    let stored = try await onlyEntry(base)
    try await engine.put("other", "intact")
    for index in stored.value.indices {
      var changed = stored.value
      changed[index] ^= 1 << UInt8(index % 8)
      try await base.commit(WriteBatch([.put(stored.key, changed, stored.attributes)]), from: StoreOrigin())
      switch index {
      case 5...7: await expect(.newerFormat, "newer version", of: "key", in: engine)
      case 32..<64: await expect(.keyUnavailable, "is not in the key ring", of: "key", in: engine)
      default: await expectDamaged("key", in: engine)
      }
      #expect(try await engine.text("other") == "intact")
    }
    for count in [0, 1, 63, 64, 79, stored.value.count - 1] {
      let short = WriteBatch([.put(stored.key, stored.value.prefix(count), stored.attributes)])
      try await base.commit(short, from: StoreOrigin())
      await expectDamaged("key", in: engine)
    }
    try await base.commit(WriteBatch([.put(stored.key, stored.value, stored.attributes)]), from: StoreOrigin())
    #expect(try await engine.text("key") == "the value")
  }

  @Test(arguments: [EncryptionSettings(), .hidden])
  func everyChangedAttributeIsNoticed(_ settings: EncryptionSettings) async throws {
    let engine = try await base.encrypted(settings)
    var attributes = ValueAttributes()
    attributes[number] = 7
    try await engine.put("key", "the value", attributes)
    let stored = try await onlyEntry(base)
    var count = 0
    for index in stored.attributes.encoded.indices {
      var bytes = stored.attributes.encoded
      bytes[index] ^= 1
      guard let changed = ValueAttributes(encoded: bytes) else { continue }
      count += 1
      try await base.commit(WriteBatch([.put(stored.key, stored.value, changed)]), from: StoreOrigin())
      await #expect(throws: StorageError.self) { try await engine.entry("key") }
    }
    #expect(count > 8)
    for changed in [ValueAttributes.none, attributes] {
      try await base.commit(WriteBatch([.put(stored.key, stored.value, changed)]), from: StoreOrigin())
      await expectDamaged("key", in: engine, "in plain")
    }
  }

  @Test(arguments: [EncryptionSettings(), .hidden])
  func anEnvelopeOpensOnlyWhereItWasSealed(_ settings: EncryptionSettings) async throws {
    let engine = try await base.encrypted(settings)
    try await engine.put("one", "1")
    let first = try await onlyEntry(base)
    try await engine.put("two", "2")
    let second = try #require(
      try await base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 3) }.first { $0.key != first.key }
    )
    try await base.commit(WriteBatch([.put(second.key, first.value, first.attributes)]), from: StoreOrigin())
    await expectDamaged("two", in: engine)
    #expect(try await engine.text("one") == "1")
    if settings.hidesNames {
      // The listing would show the name of another value.
      await expectStorageError(.damaged, contains: "name") { _ = try await base.encrypted().summaries() }
    }
    let other = MemoryEngine()
    let another = try await other.encrypted(settings)
    try await another.put("one", "1")
    try await other.commit(
      WriteBatch([.put(try await onlyEntry(other).key, first.value, first.attributes)]), from: StoreOrigin())
    await expectStorageError(.keyUnavailable, contains: "key") { _ = try await another.entry("one") }
  }

  @Test func aPlainValueIsRefused() async throws {
    let engine = try await base.encrypted()
    try await engine.put("sealed", "1")
    try await base.plant("planted", "2")
    await expectDamaged("planted", in: engine, "in plain")
    #expect(try await engine.text("sealed") == "1")
    // An envelope without its mark is not a plain value.
    let sealed = try #require(try await base.entry("sealed"))
    try await base.commit(WriteBatch([.put("sealed", sealed.value)]), from: StoreOrigin())
    await expectDamaged("sealed", in: engine, "in plain")
  }

  @Test func aMissingKeyIsNotDamage() async throws {
    let engine = try await base.encrypted()
    try await engine.put("old", "1")
    var first: KeyID?
    try await base.changeRing {
      first = $0.primary.id
      try $0.addPrimary(now: Date())
    }
    try await engine.put("new", "2")
    #expect(try await engine.text("old") == "1")
    let removed = try #require(first)
    try await base.changeRing { try $0.remove(removed) }
    let again = try await base.encrypted()
    await expectStorageError(.keyUnavailable) { _ = try await again.entry("old") }
    #expect(try await again.damage(of: "old") == nil)
    #expect(try await again.text("new") == "2")
  }

  @Test func sizesAreThoseOfTheValuesOrHidden() async throws {
    let engine = try await base.encrypted()
    try await engine.put("key", "12345")
    #expect(try await engine.summary(of: "key")?.size == 5)
    #expect(try await engine.summaries().map(\.size) == [5])
    #expect(!engine.capabilities.contains(.secrecy))
    let padded = try await MemoryEngine().encrypted(.secret)
    try await padded.put("key", "12345")
    #expect(try await padded.summaries().map(\.size) == [nil])
    #expect(padded.capabilities.contains(.secrecy))
  }

  @Test func someKeysOfAPlainStore() async throws {
    let engine = try await base.encrypted(only: { $0.hasPrefix("secret/") })
    try await base.put("secret/planted", "0")
    try await engine.put("secret/a", "a long secret")
    try await engine.put("theme", "dark")
    #expect(try await base.text("theme") == "dark")
    #expect(try await base.entry("secret/a")?.value.range(of: Data("a long secret".utf8)) == nil)
    #expect(try await engine.text("secret/a") == "a long secret")
    #expect(try await engine.text("theme") == "dark")
    await expectDamaged("secret/planted", in: engine, "in plain")
    #expect(try await engine.summary(of: "secret/a")?.size == 13)
    #expect(try await engine.summary(of: "theme")?.size == 4)
    await expectStorageError(.unsupported) { _ = try await base.encrypted(.hidden, only: { _ in true }) }
  }

  @Test func someKeysOfAStoreThatHoldsPlainValues() async throws {
    try await base.put("theme", "dark")
    let engine = try await base.encrypted(only: { $0.hasPrefix("secret/") })
    try await engine.put("secret/a", "1")
    #expect(try await engine.summaries().map(\.key) == ["secret/a", "theme"])
    #expect(try await base.encrypted(only: { $0.hasPrefix("secret/") }).text("secret/a") == "1")
    // A plain value where an encrypted one must be is refused by itself.
    let another = MemoryEngine()
    try await another.put("secret/a", "1")
    let mixed = try await another.encrypted(only: { $0.hasPrefix("secret/") })
    await expectStorageError(.notEncrypted) { _ = try await mixed.entry("secret/a") }
    try await mixed.put("secret/b", "2")
    // An envelope shows that there was a ring, and that it was lost.
    let batch = WriteBatch([.deleteRecord(.keyRing), .deleteRecord(.keyRingCopy)])
    try await another.commit(batch, from: StoreOrigin())
    await expectStorageError(.keyUnavailable) { _ = try await another.encrypted(only: { $0.hasPrefix("secret/") }) }
  }

  /// Any number of failing reads read the ring again together, and not each by itself.
  @Test func callersShareTheReadingOfTheRing() async throws {
    let counting = CountingRecords(base: base)
    let engine = try await counting.encrypted()
    let other = try await base.encrypted()
    try await base.changeRing { try $0.addPrimary(now: Date()) }
    for number in 0..<64 { try await other.put(.known("\(number)"), "\(number)") }
    counting.count.withLock { $0 = 0 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          let text = try await engine.text(.known("\(number)"))
          #expect(text == "\(number)")
        }
      }
      try await group.waitForAll()
    }
    #expect(counting.count.withLock { $0 } < 64)
  }

  @Test func theTypesOfPreferencesSurvive() async throws {
    let directory = try TemporaryDirectory()
    let base = try await TestedStore.prefs.open(in: directory.url)
    let adapter = UserDefaultsAdapter(engine: try await base.encrypted(.secret))
    let values: [(String, PreferenceValue)] = [
      ("flag", .boolean(true)), ("count", .integer(7)), ("text", .string("1")), ("bytes", .data(Data([0, 255]))),
    ]
    for (key, value) in values { try await adapter.set(value, for: key) }
    for (key, value) in values { #expect(try await adapter.get(key) == value) }
    try await base.close()
  }

  @Test func aPublicKeySourceOpensTheStore() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("key")
    let isCreated = FileManager.default.createFile(
      atPath: path, contents: sha256(Data([7])), attributes: [.posixPermissions: 0o600])
    #expect(isCreated)
    let engine = try await EncryptedEngine.open(base, key: .file(path))
    try await engine.put("key", "1")
    #expect(try await EncryptedEngine.open(base, key: .file(path)).text("key") == "1")
    await expectStorageError(.wrongPassphrase) { _ = try await base.encrypted() }
  }

  @Test func whatCannotBeEncryptedIsRefused() async throws {
    let engine = try await base.encrypted()
    await expectStorageError(.unsupported, contains: "twice") { _ = try await engine.encrypted() }
    await expectStorageError(.unsupported) { _ = try await AdapterEngine(MemoryAdapter(), name: "x").encrypted() }
    let name = try SystemRecord.Name("encryption.kept")
    await expectStorageError(.unsupported, contains: "encryption.kept") {
      try await engine.commit(WriteBatch([.putRecord(name, Data())]), from: StoreOrigin())
    }
    let filled = MemoryEngine()
    try await filled.put("plain", "1")
    await expectStorageError(.keyUnavailable) { _ = try await filled.encrypted() }
    await expectStorageError(.wrongPassphrase) { _ = try await base.encrypted(seed: "another") }
    #expect(try await filled.text("plain") == "1")
  }

  @Test func aReadOnlyStoreIsReadAndNotChanged() async throws {
    let engine = try await base.encrypted(.hidden)
    try await engine.put("key", "1")
    let reader = try await ReadOnlyEngine(base).encrypted()
    #expect(reader.isReadOnly)
    #expect(try await reader.text("key") == "1")
    #expect(try await reader.summaries().map(\.key) == ["key"])
    await expectStorageError(.readOnly) { try await reader.put("key", "2") }
    await expectStorageError(.readOnly) { _ = try await ReadOnlyEngine(MemoryEngine()).encrypted() }
  }
}

/// Counts the readings of records.
private struct CountingRecords: EngineDecorator {
  let base: any StorageEngine
  let count = Locked(0)

  func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    count.withLock { $0 += 1 }
    await Task.yield()
    return try await base.record(name)
  }
}
