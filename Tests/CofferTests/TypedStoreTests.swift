import Coffer
import CofferCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct TypedStoreTests {
  let engine = MemoryEngine()
  var store: TypedStore { TypedStore(engine: engine) }

  @Test func savesLoadsAndDeletes() async throws {
    let store = store
    #expect(try await store.load(Note.self, for: "note") == nil)
    #expect(try await !store.exists("note"))
    try await store.save(Note(title: "a"), for: "note")
    #expect(try await store.load(Note.self, for: "note") == Note(title: "a"))
    #expect(try await TypedStore(engine: engine).load(Note.self, for: "note") == Note(title: "a"))
    #expect(try await store.exists("note"))
    try await store.delete("note")
    try await store.delete("note")
    #expect(try await store.load(Note.self, for: "note") == nil)
    #expect(store.cached(Note.self, for: "note") == nil)
  }

  // Requirement 1.3
  @Test(arguments: [JSONCodec() as any StoreCodec, JSONCodec(sortedKeys: true), PropertyListCodec()])
  func everyCodecKeepsValues(codec: any StoreCodec) async throws {
    let store = TypedStore(engine: engine, codec: codec, cache: CachePolicy(maximumCount: 0))
    try await store.save(Note(title: "é", count: -3), for: "note")
    try await store.save(42, for: "number")
    try await store.save([1.5, .infinity.nextDown], for: "list")
    try await store.save(Int?.none, for: "nothing")
    #expect(try await store.load(Note.self, for: "note") == Note(title: "é", count: -3))
    #expect(try await store.load(Int.self, for: "number") == 42)
    #expect(try await store.load([Double].self, for: "list") == [1.5, .infinity.nextDown])
  }

  // Requirement 1.3
  @Test func bytesAndTextNeverPassTheCodec() async throws {
    struct Refusing: StoreCodec {
      struct Refused: Error {}
      func encode<T: Encodable>(_ value: T) throws -> Data { throw Refused() }
      func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { throw Refused() }
    }
    let store = TypedStore(engine: engine, codec: Refusing(), cache: CachePolicy(maximumCount: 0))
    let bytes = Data([0, 0xFF, 0xC3, 0x28])
    let text = "\u{FEFF}a\0e\u{301}\u{FFFD}👩‍👩‍👧"
    try await store.save(bytes, for: "bytes")
    try await store.save(text, for: "text")
    try await store.save(Data(), for: "empty")
    #expect(try await engine.entry(KeyName("bytes"))?.value == bytes)
    #expect(try await engine.entry(KeyName("text"))?.value == Data(text.utf8))
    #expect(try await store.load(Data.self, for: "bytes") == bytes)
    #expect(try await Array(store.load(String.self, for: "text")!.utf8) == Array(text.utf8))
    #expect(try await store.load(Data.self, for: "empty") == Data())
    #expect(try await store.load(String.self, for: "empty") == "")
    #expect(await codeThrown { _ = try await store.load(String.self, for: "bytes") } == .decodingFailed)
    #expect(await codeThrown { try await store.save(1, for: "number") } == .encodingFailed)
    #expect(try await !store.exists("number"))
  }

  // Requirements 1.2, 1.55
  @Test func aDecodingFailureNamesKeyAndTypeNotTheValueAndKeepsTheBytes() async throws {
    let bytes = Data(#"{"title": "s3cret", "count": "s3cret"}"#.utf8)
    try await store.save(bytes, for: "note")
    let error = try #require(await #expect(throws: StorageError.self) { try await store.load(Note.self, for: "note") })
    #expect(error.code == .decodingFailed)
    #expect(error.key?.string == "note")
    #expect(error.description.contains("Note"))
    #expect(error.description.contains("$.count"))
    #expect(!error.description.contains("s3cret"))
    #expect(try await store.load(Data.self, for: "note") == bytes)

    for (text, type) in [
      (#""s3cret""#, Theme.self as any (Codable & Sendable).Type),
      (#"{"s3cret": {"x": "s3cret"}}"#, [String: Note].self),
      ("s3cret", Int.self),
    ] {
      try await store.save(Data(text.utf8), for: "other")
      let error = await #expect(throws: StorageError.self) { try await load(type) }
      #expect(error?.description.contains("s3cret") == false)
    }
    func load<T: Codable & Sendable>(_ type: T.Type) async throws { _ = try await store.load(type, for: "other") }
  }

  @Test func unavailableIsNeverAbsent() async throws {
    let probe = ProbeEngine(engine)
    let store = TypedStore(engine: probe)
    probe.fail(unavailable)
    #expect(await codeThrown { _ = try await store.load(Note.self, for: "x") } == .unavailable)
    #expect(await codeThrown { _ = try await store.exists("x") } == .unavailable)
    #expect(await codeThrown { _ = try await store.loadAll(Note.self, keys: [KeyName("x")]) } == .unavailable)
    #expect(await codeThrown { try await store.update("x", default: 0) { $0 += 1 } } == .unavailable)
    #expect(await codeThrown { _ = try await store.load(Note.self, for: "") } == .invalidKey)
  }

  @Test func saveAllIsOneCommitAndLoadAllKeepsTheOrder() async throws {
    let keys = try ["a", "b", "c"].map { try KeyName($0) }
    let transaction = TransactionID()
    var changes = engine.changes(since: nil).makeAsyncIterator()
    try await store.saveAll([(keys[0], 1), (keys[1], 2), (keys[0], 3)], transaction: transaction)
    guard case .commit(let commit) = await changes.next() else { return #expect(Bool(false)) }
    #expect(commit.transaction == transaction)
    #expect(engine.latestRevision == StoreRevision(1))
    #expect(try await store.loadAll(Int.self, keys: [keys[1], keys[2], keys[0]]) == [2, nil, 3])
    #expect(try await store.loadAll(Int.self, keys: []) == [])
    try await store.saveAll([(KeyName, Int)]())
    try await store.deleteAll(keys)
    #expect(try await store.loadAll(Int.self, keys: keys) == [nil, nil, nil])
    #expect(engine.latestRevision == StoreRevision(2))
  }

  @Test func aBatchWithAValueThatCannotBeEncodedWritesNothing() async throws {
    let keys = try ["a", "b"].map { try KeyName($0) }
    let code = await codeThrown { try await store.saveAll([(keys[0], 1.0), (keys[1], Double.nan)]) }
    #expect(code == .encodingFailed)
    #expect(try await !store.exists(keys[0]))
  }

  // Requirements 1.10, 1.38
  @Test func aThirdPartyAdapterGetsWhatItCanDoAndARefusalForTheRest() async throws {
    let store = TypedStore(engine: AdapterEngine(ThirdPartyAdapter()))
    let keys = try ["a", "b"].map { try KeyName($0) }
    try await store.save(1, for: keys[0])
    #expect(try await store.load(Int.self, for: keys[0]) == 1)
    #expect(store.cached(Int.self, for: keys[0]) == nil)
    #expect(await codeThrown { try await store.saveAll([(keys[0], 1), (keys[1], 2)]) } == .unsupported)
    #expect(await codeThrown { try await store.update(keys[0], default: 0) { $0 += 1 } } == .unsupported)
    #expect(try await store.loadAll(Int.self, keys: keys) == [1, nil])
  }
}

@Suite(.timeLimit(.minutes(10))) struct TypedStoreUpdateTests {
  let engine = MemoryEngine()

  @Test func createsChangesRemovesAndLeavesAbsentAlone() async throws {
    let store = TypedStore(engine: engine)
    #expect(try await store.update(Int.self, for: "n") { $0.map { $0 + 1 } } == nil)
    #expect(engine.latestRevision == .zero)
    #expect(try await store.update("n", default: 5) { $0 += 1 } == 6)
    #expect(try await store.update(Int.self, for: "n") { $0.map { $0 + 1 } } == 7)
    #expect(store.cached(Int.self, for: "n") == 7)
    #expect(try await store.update(Int.self, for: "n") { _ in nil } == nil)
    #expect(try await !store.exists("n"))
    struct Stop: Error {}
    await #expect(throws: Stop.self) { try await store.update("n", default: 5) { _ in throw Stop() } }
    #expect(try await !store.exists("n"))
  }

  // Requirement 1.40
  @Test func manyTasksAndStoresLoseNoUpdate() async throws {
    let stores = [
      TypedStore(engine: engine), TypedStore(engine: engine),
      TypedStore(engine: engine, cache: CachePolicy(maximumCount: 0)),
    ]
    try await withThrowingTaskGroup { group in
      for index in 0..<300 {
        group.addTask { _ = try await stores[index % 3].update("n", default: 0) { $0 += 1 } }
      }
      try await group.waitForAll()
    }
    for store in stores { #expect(try await store.load(Int.self, for: "n") == 300) }
  }

  @Test func runsAgainWhenSomebodyElseWasFirst() async throws {
    let probe = ProbeEngine(engine)
    let store = TypedStore(engine: probe)
    let other = TypedStore(engine: engine)
    try await store.save(1, for: "n")
    probe.beforeCommit {
      probe.beforeCommit(nil)
      try? await other.save(10, for: "n")
    }
    #expect(try await store.update("n", default: 0) { $0 += 1 } == 11)
  }

  @Test func cancellationEndsWaitingAndRetrying() async throws {
    let probe = ProbeEngine(engine)
    let store = TypedStore(engine: probe)
    let other = TypedStore(engine: engine)
    // Another writer always commits first, so that only cancellation ends the update.
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    probe.beforeCommit {
      try? await other.save(0, for: "n")
      start.yield()
    }
    let first = Task { try await store.update("n", default: 0) { $0 += 1 } }
    for await _ in started { break }
    let second = Task { try await store.update("n", default: 0) { $0 += 1 } }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    probe.beforeCommit(nil)
    #expect(try await store.update("n", default: 0) { $0 += 1 } == 1)
  }
}
