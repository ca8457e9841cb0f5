public import Coffer
import CofferCore

/// A persistence capability in memory that counts its calls, for tests of code that persists (document 1).
///
/// ```swift
/// let persistence = MockPersistenceCapability()
/// let client = CounterClient(persistence: persistence)
/// try await client.increment()
/// #expect(await persistence.saveCount == 1)
/// ```
public actor MockPersistenceCapability: PersistenceCapability {
  /// How often a single value was saved.
  public private(set) var saveCount = 0
  /// How often a single value was loaded, found or not.
  public private(set) var loadCount = 0
  /// How often a batch was saved.
  public private(set) var batchSaveCount = 0
  /// How often a batch was deleted.
  public private(set) var batchDeleteCount = 0

  private var calls = PersistenceCalls(TypedStore(engine: MemoryEngine(name: "mock")))

  /// An empty mock.
  public init() {}

  /// Always true.
  public var isAvailable: Bool { true }

  /// Does nothing.
  public func activate() async throws {}

  /// Removes everything that was saved. The counters stay.
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

  /// Does nothing when the versions are equal, and throws otherwise: the mock has no migration steps.
  public func migrate(from oldVersion: String, to newVersion: String) async throws {
    try calls.migrate(from: oldVersion, to: newVersion)
  }
}
