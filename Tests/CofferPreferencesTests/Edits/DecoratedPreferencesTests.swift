import CofferCore
import CofferPreferences
import CofferSQLite
import CofferSlots
import CofferTesting
import Foundation
import Testing

/// The adapter over a decorated engine, and over engines that are not property lists.
@Suite(.serialized) struct DecoratedPreferencesTests {
  private let values: [(String, PreferenceValue)] = [
    ("flag", .boolean(true)), ("when", .date(Date(timeIntervalSinceReferenceDate: 86_400))), ("count", .integer(7)),
    ("list", .array([.string("a"), .integer(1)])), ("text", .string("1")), ("bytes", .data(Data([0, 255]))),
  ]

  @Test func typesPassThroughDecorators() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let front = FaultInjectingEngine(FaultInjectingEngine(engine))
    let adapter = UserDefaultsAdapter(engine: front)
    for (key, value) in values { try await adapter.set(value, for: key) }
    let direct = UserDefaultsAdapter(engine: engine)
    for (key, value) in values {
      #expect(try await adapter.get(key) == value, "\(key)")
      #expect(try await direct.get(key) == value, "\(key)")
    }
    #expect(try await adapter.keys() == values.map(\.0).sorted())
    #expect(front.as(SlotEngine.self) === engine && front.as(SQLiteEngine.self) == nil)
    #expect(try await front.opened(as: SlotEngine.self) === engine)
    await #expect(throws: StorageError.self) { try await front.opened(as: SQLiteEngine.self) }
    try await engine.close()
    let again = try await fixture.open()
    for (key, value) in values { #expect(try await UserDefaultsAdapter(engine: again).get(key) == value) }
    try await again.close()
  }

  @Test func typesAreKeptByEveryEngineThatKeepsAttributes() async throws {
    let adapter = UserDefaultsAdapter(engine: MemoryEngine())
    for (key, value) in values { try await adapter.set(value, for: key) }
    for (key, value) in values { #expect(try await adapter.get(key) == value, "\(key)") }
  }

  /// Backups of format 2 store the types in a separate table.
  @Test func anEarlierBackupKeepsItsTypes() async throws {
    let fixture = try PreferenceFixture()
    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Golden/format-2.backup")
    let engine = try await fixture.open()
    try await engine.restore(from: golden.path)
    let adapter = UserDefaultsAdapter(engine: engine)
    #expect(try await adapter.get("n") == .integer(5))
    #expect(try await adapter.get("flag") == .boolean(true))
    #expect(try await adapter.get("text") == .string("dark"))
    try await engine.close()
  }

  @Test func aBackupKeepsTypesAndAttributes() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let adapter = UserDefaultsAdapter(engine: engine)
    for (key, value) in values { try await adapter.set(value, for: key) }
    var attributes = ValueAttributes()
    let version = ValueAttribute<UInt64>(applicationCode: 128)
    attributes[version] = 3
    try await engine.commit(WriteBatch([.put(StoreKey("own"), Data("x".utf8), attributes)]), from: StoreOrigin())
    let backup = fixture.outside("prefs.backup")
    try await engine.backup(to: backup)
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
    try await engine.restore(from: backup)
    for (key, value) in values { #expect(try await adapter.get(key) == value, "\(key)") }
    #expect(try await engine.entry(StoreKey("own"))?.attributes[version] == 3)
    try await engine.close()
  }
}
