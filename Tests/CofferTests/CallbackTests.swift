import CofferCallbacks
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct CallbackTests {
  let engine = MemoryEngine()
  var storage: EngineKeyValueStorage { EngineKeyValueStorage(engine: engine) }

  // Requirements 3.2, 3.4, 3.6, 3.10, 3.11, 3.16
  @Test(arguments: [Bytes("John Doe".utf8), [], Bytes(0...255), Bytes(repeating: 7, count: 1_000_000)])
  func storesAnyBytesUnderAnyKey(value: Bytes) async throws {
    let storage = storage
    for key in ["name", "../x", "a/b", "CON", "👩‍👩‍👧", String(repeating: "k", count: 1_024)] {
      #expect(await storage.missing(key))
      #expect(await storage.stored(value, key) == nil)
      #expect(await storage.retrieved(key).value == value)
      #expect(try await engine.entry(KeyName(key))?.value == Data(value))
      #expect(await storage.stored([1], key) == nil)  // overwrites
      #expect(await storage.retrieved(key).value == [1])
      #expect(await storage.removed(key) == nil)
      #expect(await storage.missing(key))
      #expect(await storage.removed(key) == nil)  // removing a missing value is not an error
    }
  }

  // Requirement 3.2
  @Test func keysAreBytes() async {
    let storage = storage
    #expect(await storage.stored([1], "caf\u{E9}") == nil)
    #expect(await storage.missing("cafe\u{301}"))
  }

  // Requirements 3.5, 3.7, 3.17
  @Test func theFormsOfTheDocumentsExamplesWork() async {
    let storage = storage
    let stored = await answer { storage.store(key: "name", value: Data("John Doe".utf8), finished: $0) }
    #expect(stored == nil)
    #expect(await storage.retrieved("name").value == Bytes("John Doe".utf8))
    let removed = await answer { storage.remove(key: "name", finished: $0) }
    #expect(removed == nil)
    #expect(await storage.missing("name"))
  }

  // Requirement 3.14
  @Test func aMissingKeyIsAnErrorThatHelps() async throws {
    let error = try #require(await storage.retrieved("name").error as? StorageError)
    #expect(error.code == .notFound)
    #expect(error.key == KeyName("name"))
    #expect(error.location == engine.description)
    #expect(!error.advice.isEmpty)
  }

  // Requirements 3.3, 3.9, 3.19
  @Test(arguments: ["", String(repeating: "k", count: 1_025)])
  func anInvalidKeyIsAnError(key: String) async {
    let storage = storage
    let retrieved = await storage.retrieved(key)
    #expect(retrieved.value == nil)
    for error in await [storage.stored([1], key), retrieved.error, storage.removed(key)] {
      #expect((error as? StorageError)?.code == .invalidKey)
      #expect((error as? StorageError)?.location == engine.description)
    }
  }

  // Requirements 3.9, 3.15, 3.19
  @Test func aClosedEngineIsAnError() async throws {
    let storage = storage
    #expect(await storage.stored([1], "a") == nil)
    try await engine.close()
    let retrieved = await storage.retrieved("a")
    #expect(retrieved.value == nil)
    for error in await [storage.stored([1], "a"), retrieved.error, storage.removed("a")] {
      #expect((error as? StorageError)?.code == .closed)
      #expect((error as? StorageError)?.key == KeyName("a"))
    }
  }

  /// The engine reports a missing store as `notFound`, which a caller would mistake for a missing key.
  // Requirement 3.14
  @Test func aLostStoreIsNotAMissingKey() async {
    let probe = ProbeEngine(engine)
    probe.fail(StorageError(.notFound, "There is no store at this path."))
    let error = await EngineKeyValueStorage(engine: probe).retrieved("a").error as? StorageError
    #expect(error?.code == .unavailable)
    #expect(error?.message == "There is no store at this path.")
    #expect(error?.location == "probe")
  }

  @Test func commitsCarryTheStoragesOrigin() async throws {
    let storage = storage
    let changes = engine.changes(since: nil)
    #expect(await storage.stored([1], "a") == nil)
    guard case .commit(let commit) = try await take(1, from: changes)[0] else { return #expect(Bool(false)) }
    #expect(commit.origin == storage.origin)
  }
}
