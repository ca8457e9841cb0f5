import Coffer
import CofferCore
public import CofferPersistence

/// An in-memory `PersistenceCapability` that counts its calls, for tests of code that stores values.
///
/// ```swift
/// let persistence = MockPersistenceCapability()
/// let client = CounterClient(persistence: persistence)
/// try await client.increment()
/// #expect(await persistence.saveCount == 1)
/// ```
public actor MockPersistenceCapability: PersistenceCapability {
  /// The number of calls that saved a single value, including those that threw.
  public private(set) var saveCount = 0
  /// The number of calls that loaded a single value, whether or not it was found.
  public private(set) var loadCount = 0
  /// The number of calls that saved a batch.
  public private(set) var batchSaveCount = 0
  /// The number of calls that deleted a batch.
  public private(set) var batchDeleteCount = 0

  private var calls = PersistenceCalls(TypedStore(engine: MemoryEngine(name: "mock")))

  /// Creates a mock without values.
  public init() {}

  /// Whether the mock can be used; always true.
  public var isAvailable: Bool { true }

  /// Does nothing: the mock needs no activation.
  public func activate() async throws {}

  /// Removes all saved values. The counters keep their values.
  public func deactivate() async {
    calls = PersistenceCalls(TypedStore(engine: MemoryEngine(name: "mock")))
  }

  public func save<T: Codable>(_ value: T, for key: String) async throws {
    saveCount += 1
    try await calls.save(value, for: key)
  }

  public func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    loadCount += 1
    return try await calls.load(type, for: key)
  }

  public func delete(key: String) async throws {
    try await calls.store.delete(key)
  }

  public func exists(key: String) async -> Bool {
    await calls.exists(key: key)
  }

  public func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws {
    batchSaveCount += 1
    try await calls.saveBatch(items)
  }

  public func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    try await calls.loadBatch(type, keys: keys)
  }

  public func deleteBatch(keys: [String]) async throws {
    batchDeleteCount += 1
    try await calls.deleteBatch(keys: keys)
  }

  /// Does nothing if the versions are equal, and throws otherwise: the mock has no migrations.
  public func migrate(from oldVersion: String, to newVersion: String) async throws {
    try await calls.migrate(from: oldVersion, to: newVersion)
  }
}
