import CofferPersistence
import CofferTesting
import Foundation
import Testing

enum Language: String, Codable { case english, german }

/// The specification's persistable client, written as an actor without the macro.
protocol PersistableClient: Actor {
  static var persistedKeys: [String] { get }
  var persistence: any PersistenceCapability { get }
  func persistState() async throws
}

actor UserPreferencesClient: PersistableClient {
  static let persistedKeys = ["theme", "notifications", "language"]

  let persistence: any PersistenceCapability
  var theme: Theme = .system
  var notificationsEnabled: Bool = true
  var language: Language = .english

  init(persistence: any PersistenceCapability) { self.persistence = persistence }

  func change() { (theme, notificationsEnabled, language) = (.dark, false, .german) }

  func persistState() async throws {
    try await persistence.save(theme, for: "theme")
    try await persistence.save(notificationsEnabled, for: "notifications")
    try await persistence.save(language, for: "language")
  }

  func restoreState() async throws {
    if let savedTheme = try await persistence.load(Theme.self, for: "theme") {
      theme = savedTheme
    }
    if let saved = try await persistence.load(Bool.self, for: "notifications") { notificationsEnabled = saved }
    if let saved = try await persistence.load(Language.self, for: "language") { language = saved }
  }
}

/// A client that keeps only part of its state.
actor SelectiveClient {
  let persistence: any PersistenceCapability
  private var value = ""
  private var counter = 0

  init(persistence: any PersistenceCapability) { self.persistence = persistence }
  func updateValue(_ value: String) { self.value = value }
  func incrementCounter() async throws {
    counter += 1
    try await persistence.save(counter, for: "counter")
  }
}

/// A value that must not be shared between tasks.
final class Draft: Codable {
  var text: String
  init(text: String) { self.text = text }
}

@Suite(.timeLimit(.minutes(10))) struct PersistenceTests {
  /// Every capability of this package, over an adapter of each kind.
  static func all() -> [any PersistenceCapability] {
    [
      AdapterBasedPersistence(adapter: MemoryAdapter()), AdapterBasedPersistence(adapter: ThirdPartyAdapter()),
      AdapterBasedPersistence(engine: MemoryEngine(), codec: PropertyListCodec()), MockPersistenceCapability(),
    ]
  }

  // Requirements 1.1, 1.5, 1.6, 1.7
  @Test func savesLoadsAndDeletesSeveralKeys() async throws {
    for (index, persistence) in Self.all().enumerated() {
      #expect(await persistence.isAvailable)
      try await persistence.activate()
      #expect(await !persistence.exists(key: "string"))
      #expect(try await persistence.load(Note.self, for: "note") == nil)
      try await persistence.save(Note(title: "a", count: 1), for: "note")
      try await persistence.save("text", for: "string")
      try await persistence.save(42, for: "number")
      try await persistence.save([true, false], for: "list")
      #expect(await persistence.exists(key: "string"))
      #expect(await !persistence.exists(key: ""))
      #expect(try await persistence.load(Note.self, for: "note") == Note(title: "a", count: 1))
      #expect(try await persistence.load(String.self, for: "string") == "text")
      // Over a custom adapter, text is JSON, too.
      #expect(try await persistence.load(key: "string") == Data((index == 1 ? "\"text\"" : "text").utf8))
      #expect(try await persistence.load(Int.self, for: "number") == 42)
      #expect(try await persistence.load([Bool].self, for: "list") == [true, false])
      try await persistence.delete(key: "note")
      try await persistence.delete(key: "note")
      #expect(try await persistence.load(Note.self, for: "note") == nil)
      #expect(await !persistence.exists(key: "note"))
    }
  }

  // Requirements 1.36, 1.38
  @Test func batchesKeepTheirOrder() async throws {
    for persistence in Self.all() {
      try await persistence.saveBatch([("a", 1), ("b", 2), ("c", 3)])
      #expect(try await persistence.loadBatch(Int.self, keys: ["c", "missing", "a", "c"]) == [3, nil, 1, 3])
      try await persistence.deleteBatch(keys: ["a", "b", "c", "missing"])
      #expect(try await persistence.loadBatch(Int.self, keys: ["a", "b", "c"]) == [nil, nil, nil])
      try await persistence.saveBatch([(key: String, value: Int)]())
      try await persistence.deleteBatch(keys: [])
      #expect(try await persistence.loadBatch(Int.self, keys: []) == [])
    }
  }

  // Requirement 1.37
  @Test func aBatchIsOneCommitAndABadValueLeavesNothing() async throws {
    let engine = MemoryEngine()
    let persistence = AdapterBasedPersistence(engine: engine)
    try await persistence.saveBatch([("a", 1), ("b", 2)])
    #expect(engine.latestRevision == StoreRevision(1))
    for persistence in Self.all().prefix(2) {
      let code = await codeThrown { try await persistence.saveBatch([("x", 1), ("y", Double.nan)]) }
      #expect(code == .encodingFailed)
      #expect(await !persistence.exists(key: "x"))
    }
  }

  // Requirement 1.38
  @Test func aBatchOverACustomAdapterStopsAtTheFirstFailure() async throws {
    let adapter = FailingSecondWrite()
    let persistence = AdapterBasedPersistence(adapter: adapter)
    await #expect(throws: StorageError.self) { try await persistence.saveBatch([("a", 1), ("b", 2), ("c", 3)]) }
    #expect(await adapter.keys == ["a"])
    #expect(await codeThrown { try await persistence.saveBatch([("d", 1), ("e", Double.nan)]) } == .encodingFailed)
    #expect(await adapter.keys == ["a"], "all values are encoded before the first is written")
  }

  // Requirement 1.30
  @Test func migrationIsANoOpOrARefusal() async throws {
    for persistence in Self.all() {
      try await persistence.save(1, for: "a")
      try await persistence.migrate(from: "1.0", to: "1.0")
      #expect(await codeThrown { try await persistence.migrate(from: "1.0", to: "2.0") } == .unsupported)
      #expect(try await persistence.load(Int.self, for: "a") == 1)
    }
  }

  // Requirement 1.6
  @Test func anUnreachableAdapterIsNotAnEmptyOne() async throws {
    let adapter = ThirdPartyAdapter()
    let persistence = AdapterBasedPersistence(adapter: adapter)
    await adapter.setReachable(false)
    await #expect(throws: StorageError.self) { try await persistence.load(Int.self, for: "a") }
    #expect(await persistence.exists(key: "a"))
  }

  // Requirement 1.18
  @Test func adaptersOfThisPackageAreBypassed() async throws {
    let adapter = MemoryAdapter()
    let persistence = AdapterBasedPersistence(adapter: adapter)
    #expect(persistence.store.origin == adapter.origin)
    try await persistence.save("x", for: "a")
    #expect(try await adapter.read(key: "a") == Data("x".utf8))
    try await adapter.write(key: "a", data: Data("y".utf8))
    #expect(try await persistence.load(String.self, for: "a") == "y")
    try await adapter.clear()
    #expect(try await persistence.load(String.self, for: "a") == nil)
  }

  // Requirement 1.21
  @Test func oneWritesAndANewOneReads() async throws {
    let adapter = ThirdPartyAdapter()
    let first = UserPreferencesClient(persistence: AdapterBasedPersistence(adapter: adapter))
    await first.change()
    try await first.persistState()
    let second = UserPreferencesClient(persistence: AdapterBasedPersistence(adapter: adapter))
    #expect(await second.theme == .system)
    try await second.restoreState()
    #expect(await second.theme == .dark)
    #expect(await second.notificationsEnabled == false)
    #expect(await second.language == .german)
    for key in UserPreferencesClient.persistedKeys { #expect(await first.persistence.exists(key: key)) }
  }

  // Requirement 1.4
  @Test @MainActor func theMainActorAndPlainTasksCallItAlike() async throws {
    let persistence: any PersistenceCapability = AdapterBasedPersistence(adapter: MemoryAdapter())
    let theme = Theme.dark
    try await persistence.save(theme, for: "theme")
    #expect(try await persistence.load(Theme.self, for: "theme") == .dark)
    try await Task.detached {
      #expect(try await persistence.load(Theme.self, for: "theme") == .dark)
      try await persistence.save(Theme.system, for: "theme")
    }.value
    #expect(try await persistence.load(Theme.self, for: "theme") == .system)
    // A value that is not Sendable can be transferred.
    try await persistence.save(Draft(text: "a"), for: "draft")
    #expect(try await persistence.load(Note.self, for: "none") == nil)
  }

  // Requirements 1.40, 1.60
  @Test func manyTasksMayUseIt() async throws {
    let persistence = AdapterBasedPersistence(adapter: MemoryAdapter())
    try await withThrowingTaskGroup { group in
      for index in 0..<200 { group.addTask { try await persistence.save(index, for: "key\(index)") } }
      try await group.waitForAll()
    }
    #expect(try await persistence.loadBatch(Int.self, keys: (0..<200).map { "key\($0)" }) == Array(0..<200))
  }

  @Test func aDeactivatedCapabilityKeepsItsDataAndAClosedOneSaysSo() async throws {
    let engine = MemoryEngine()
    let persistence = AdapterBasedPersistence(engine: engine)
    try await persistence.save(1, for: "a")
    try await persistence.deactivate()
    try await persistence.activate()
    #expect(try await persistence.load(Int.self, for: "a") == 1)
    try await engine.close()
    #expect(await codeThrown { try await persistence.save(1, for: "a") } == .closed)
    #expect(await !persistence.isAvailable)
  }
}

@Suite(.timeLimit(.minutes(10))) struct MockPersistenceTests {
  @Test func countsItsCalls() async throws {
    let mock = MockPersistenceCapability()
    try await mock.save("value", for: "key")
    #expect(try await mock.load(String.self, for: "key") == "value")
    #expect(try await mock.load(String.self, for: "missing") == nil)
    try await mock.saveBatch([("a", 1), ("b", 2), ("c", 3)])
    try await mock.deleteBatch(keys: ["a", "b", "c"])
    #expect(await mock.saveCount == 1)
    #expect(await mock.loadCount == 2)
    #expect(await mock.batchSaveCount == 1)
    #expect(await mock.batchDeleteCount == 1)
  }

  @Test func isEmptyAfterItWasDeactivated() async throws {
    let mock = MockPersistenceCapability()
    try await mock.activate()
    #expect(await mock.isAvailable)
    try await mock.save(1, for: "a")
    await mock.deactivate()
    #expect(await !mock.exists(key: "a"))
    #expect(try await mock.load(Int.self, for: "a") == nil)
  }

  // Requirement 1.25
  @Test func aClientSavesOnlyWhatItMeansTo() async throws {
    let mock = MockPersistenceCapability()
    let client = SelectiveClient(persistence: mock)
    await client.updateValue("transient")
    #expect(await mock.saveCount == 0)
    try await client.incrementCounter()
    #expect(await mock.saveCount == 1)
    #expect(try await mock.load(Int.self, for: "counter") == 1)
  }
}

/// An adapter of four methods whose second write fails.
private actor FailingSecondWrite: StorageAdapter {
  struct Full: Error {}
  private(set) var keys: [String] = []

  func read(key: String) async throws -> Data? { nil }
  func write(key: String, data: Data) async throws {
    guard keys.count != 1 else { throw Full() }
    keys.append(key)
  }
  func delete(key: String) async throws { keys.removeAll { $0 == key } }
  func exists(key: String) async -> Bool { keys.contains(key) }
}
