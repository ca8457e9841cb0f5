import Coffer
import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
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
    try await engine.commit(WriteBatch([.put(KeyName("own"), Data("x".utf8), attributes)]), from: StoreOrigin())
    let backup = fixture.outside("prefs.backup")
    try await engine.backup(to: backup)
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
    try await engine.restore(from: backup)
    for (key, value) in values { #expect(try await adapter.get(key) == value, "\(key)") }
    #expect(try await engine.entry(KeyName("own"))?.attributes[version] == 3)
    try await engine.close()
  }

  /// A decorator that changes the bytes of values, as one that encrypts them does.
  private struct Reversing: EngineDecorator {
    let base: any StorageEngine
    let forwardsPropertyLists: Bool

    var capabilities: StoreCapabilities {
      guard !forwardsPropertyLists else { return base.capabilities }
      return StoreCapabilities(
        base.capabilities.features.subtracting(.propertyLists), maximumValueSize: base.capabilities.maximumValueSize)
    }

    func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
      let operations = batch.operations.map { operation in
        guard case .put(let key, let data, let attributes) = operation else { return operation }
        return .put(key, Data(data.reversed()), attributes)
      }
      return try await base.commit(WriteBatch(operations, durability: batch.durability), from: origin)
    }

    func entry(_ key: KeyName) async throws -> StoreEntry? { try await entries([key])[0] }

    func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
      try await base.entries(keys).map { entry in
        entry.map {
          StoreEntry(key: $0.key, value: Data($0.value.reversed()), revision: $0.revision, attributes: $0.attributes)
        }
      }
    }
  }

  @Test func aDecoratorThatChangesValuesMustNotForwardPropertyLists() async throws {
    for forwards in [true, false] {
      let fixture = try PreferenceFixture()
      let base = try await fixture.open()
      let store = TypedStore(
        engine: Reversing(base: base, forwardsPropertyLists: forwards), cache: CachePolicy(maximumCount: 0))
      try await store.save(true, for: "flag")
      // The reversed bytes are no Boolean: they are data, from which nothing restores the type.
      #expect(try await UserDefaultsAdapter(engine: base).get("flag") == .data(Data("eurt".utf8)))
      #expect(try await store.load(Bool.self, for: "flag") == true)
      try await base.close()

      let conformance = StorageConformance(name: "reversing") { _ in
        Reversing(base: try await fixture.open(), forwardsPropertyLists: forwards)
      }
      let name = "with propertyLists, each value keeps its type"
      if forwards {
        await #expect(throws: StorageConformance.Failure.self) { try await conformance.run(named: name) }
      } else {
        guard case .skipped = try await conformance.run(named: name) else { throw TestFailure("the check applies") }
      }
    }
  }
}
