import Coffer
import CofferProcessTesting
import CofferTesting
import Testing

/// A client of which only two properties are edited.
private struct NumbersClient: Persistable {
  static let persistedKeys = ["a", "b", "c", "d"]
  let persistence: any PersistenceCapability
  @ClientState var a = 0
  @ClientState var b = 0
  @ClientState var c = 0
  @ClientState var d = 0
  @ClientState var unstored = 0

  func persistState() async throws {
    try await persistence.saveBatch([("d", d), ("a", a)])
    try await persistence.save(b, for: "b")
    try await persistence.save(c, for: "c")
  }
  func restoreState() async throws {
    if let saved = try await persistence.load(Int.self, for: "a") { a = saved }
    if let saved = try await persistence.load(Int.self, for: "b") { b = saved }
    if let saved = try await persistence.load(Int.self, for: "c") { c = saved }
    if let saved = try await persistence.load(Int.self, for: "d") { d = saved }
  }
}

/// Clients whose keys others change and delete at the same time.
@Suite(.timeLimit(.minutes(5))) struct ClientMergeTests {
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func onlyEditedPropertiesAreWrittenAndNoEditIsLost(_ seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let engine = MemoryEngine()
    let faults = FaultInjectingEngine(engine)
    let other = TypedStore(engine: engine)
    let session = ClientSession(engine: faults, interval: .seconds(3_600))
    if Bool.random(using: &random) { try await other.saveAll([("a", 1), ("c", 2)]) }
    let client = try await session.start { NumbersClient(persistence: $0) }.client
    let start = engine.latestRevision
    for number in 100..<400 {
      switch Int.random(in: 0..<9, using: &random) {
      case 0: client.a = number
      case 1: client.b += number
      case 2: client.unstored = number
      case 3, 4: try await other.save(number, for: ["a", "b", "c", "d"].randomElement(using: &random) ?? "c")
      case 5: try await other.delete(["a", "b", "c", "d"].randomElement(using: &random) ?? "c")
      case 6: try await session.save()
      case 7:
        faults.inject(.fail(StorageError(.busy, "The store is locked.")), into: .commit)
        try? await session.save()
        faults.removeFaults()
      default: try await Task.sleep(for: .microseconds(Int.random(in: 0..<500, using: &random)))
      }
    }
    (client.a, client.b) = (-1, -2)
    try await session.save()
    #expect(try await other.loadAll(Int.self, keys: ["a", "b"] as [StoreKey]) == [-1, -2])
    for commit in try #require(engine.recentCommits(after: start)) where commit.origin != other.origin {
      #expect(Set(commit.changed.keys).isSubset(of: ["a", "b"]), "\(commit.changed.keys)")
    }
    try await other.saveAll([("c", -3), ("d", -4)])
    try await waitUntil("the last change arrives") { client.c == -3 && client.d == -4 }
    #expect(client.a == -1 && client.b == -2)
  }
}
