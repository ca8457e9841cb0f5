import Coffer
import CofferCSQLite
import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite("Damage in an encrypted store", .serialized) struct EncryptedQuarantineTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func open(_ settings: EncryptionSettings) async throws -> EncryptedEngine {
    try await SQLiteEngine.open(at: directory.path("store.db")).encrypted(settings)
  }

  /// Executes SQL as another program would.
  private func execute(_ sql: String) throws {
    var database: OpaquePointer?
    #expect(sqlite3_open(directory.path("store.db"), &database) == SQLITE_OK)
    defer { sqlite3_close(database) }
    #expect(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(database)))")
  }

  /// Changes the envelope of the only value without the store's knowledge of it.
  @discardableResult
  private func changeEnvelope(_ engine: EncryptedEngine) async throws -> Data {
    let stored = try #require(
      try await engine.base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1) }.first)
    var value = stored.value
    value[70] ^= 1
    try await engine.base.commit(WriteBatch([.put(stored.key, value, stored.attributes)]), from: StoreOrigin())
    return value
  }

  @Test(arguments: [EncryptionSettings(), .hidden, .secret], ["attributes", "value", "key"])
  func editsByHandAreNoticed(_ settings: EncryptionSettings, _ column: String) async throws {
    let engine = try await open(settings)
    var attributes = ValueAttributes()
    attributes.expires = Date() + 3_600
    try await engine.put("key", "value", attributes)
    try await engine.close()
    let again = try await SQLiteEngine.open(at: directory.path("store.db"))
    let key = try #require(try await again.summaries().first?.key)
    try await again.close()
    switch column {
    case "attributes": try execute("UPDATE coffer_values SET attributes = substr(attributes, 12)")
    case "value":
      // The byte may be any.
      let byte = "CASE substr(value, -1) WHEN x'00' THEN x'01' ELSE x'00' END"
      try execute("UPDATE coffer_values SET value = CAST(substr(value, 1, length(value) - 1) || \(byte) AS BLOB)")
    default: try execute("UPDATE coffer_values SET key = CAST('\(key.string)x' AS BLOB)")
    }
    let changed = try await open(settings)
    await #expect(throws: StorageError.self) { try await changed.entry("key") }
    try await changed.put("other", "1")
    #expect(try await changed.text("other") == "1")
    try await changed.close()
  }

  @Test(arguments: [EncryptionSettings(), .hidden, .secret])
  func aPolicyReplacesAnEnvelopeThatDoesNotOpen(_ settings: EncryptionSettings) async throws {
    let engine = try await open(settings)
    try await engine.put("key", "secret")
    try await changeEnvelope(engine)
    let changed = try #require(
      try await engine.base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1) }.first)
    await expectStorageError(.damaged) { _ = try await TypedStore(engine: engine).load(String.self, for: "key") }
    let store = TypedStore(engine: engine, damagePolicy: .replace(with: Data("new".utf8)))
    #expect(try await store.load(Data.self, for: "key") == Data("new".utf8))
    #expect(try await TypedStore(engine: engine).load(Data.self, for: "key") == Data("new".utf8))
    let kept = try #require(try await engine.quarantinedValues().first)
    #expect(kept.key == "key" && kept.reason == .damagedValue)
    #expect(try await engine.quarantinedBytes(kept.id) == changed.value)
    try await engine.close()
    let again = try await open(settings)
    #expect(try await again.quarantinedBytes(kept.id) == changed.value)
    try await again.removeQuarantined([kept.id])
    #expect(try await again.quarantinedValues().isEmpty)
    await expectStorageError(.notFound) { _ = try await again.quarantinedBytes(kept.id) }
    try await again.close()
  }

  /// A row whose checksum is wrong is found by the store itself.
  @Test(arguments: [EncryptionSettings(), .hidden])
  func aPolicyReplacesWhatTheStoreFindsDamaged(_ settings: EncryptionSettings) async throws {
    let engine = try await open(settings)
    try await engine.put("key", "secret")
    try await engine.close()
    let byte = "CASE substr(value, -1) WHEN x'00' THEN x'01' ELSE x'00' END"
    try execute("UPDATE coffer_values SET value = CAST(substr(value, 1, length(value) - 1) || \(byte) AS BLOB)")
    let again = try await open(settings)
    let store = TypedStore(engine: again, damagePolicy: .replace(with: Data("new".utf8)))
    #expect(try await store.load(Data.self, for: "key") == Data("new".utf8))
    let values = try await again.quarantinedValues()
    #expect(values.map(\.key) == ["key"])
    let id = try #require(values.first).id
    #expect(try await again.quarantinedBytes(id).count >= 80)
    try await again.close()
  }

  /// Neither a new key nor the removal of the key ring concerns the quarantine of the store.
  @Test(arguments: TestedStore.with(.local, .plain), [EncryptionSettings(), .secret])
  func whatWasReplacedOutlivesItsKeyAndTheRing(_ kind: TestedStore, _ settings: EncryptionSettings) async throws {
    let engine = try await kind.open(in: directory.url).encrypted(settings)
    try await engine.put("key", "1")
    let bytes = try await changeEnvelope(engine)
    let id = try #require(try await engine.damage(of: "key")?.quarantineID)
    #expect(try await engine.damage(of: "key")?.quarantineID == id)
    // The value keeps the old key in the ring until it is replaced.
    #expect(try await engine.rotate().result().failures.map(\.error.code) == [.damaged])
    try await engine.put("key", "2")
    #expect(try await engine.rotate().result().isComplete)
    #expect(try await engine.quarantinedValues().map(\.key) == ["key"])
    #expect(try await engine.quarantinedBytes(id) == bytes)
    let base = engine.base
    #expect(try await base.decrypting().isComplete)
    #expect(try await base.quarantine?.quarantinedBytes(id) == bytes)
    try await engine.close()
    // The store can be encrypted again, and its quarantine read.
    let plain = try await kind.open(in: directory.url)
    #expect(try await plain.encrypting(settings).isComplete)
    let again = try await plain.encrypted()
    #expect(try await again.quarantinedBytes(id) == bytes)
    try await again.removeQuarantined([id])
    #expect(try await again.quarantinedValues().isEmpty)
    try await again.close()
  }

  @Test func withoutAQuarantineADamagedValueStays() async throws {
    let engine = try await MemoryEngine().encrypted()
    try await engine.put("key", "1")
    try await changeEnvelope(engine)
    await expectStorageError(.unsupported, contains: "quarantine") { _ = try await engine.damage(of: "key") }
    let store = TypedStore(engine: engine, damagePolicy: .replace(with: Data("new".utf8)))
    await expectStorageError(.damaged) { _ = try await store.load(Data.self, for: "key") }
    try await engine.close()
  }

  @Test func whatIsIntactHasNoDamage() async throws {
    let engine = try await open(.hidden)
    try await engine.put("key", "1")
    #expect(try await engine.damage(of: "key") == nil)
    #expect(try await engine.damage(of: "absent") == nil)
    #expect(try await engine.quarantinedValues().isEmpty)
    #expect(engine.as(SQLiteEngine.self) != nil)
    try await engine.close()
  }
}
