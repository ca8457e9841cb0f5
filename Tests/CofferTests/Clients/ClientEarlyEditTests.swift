import Coffer
import CofferLocks
import CofferTesting
import Foundation
import Testing

private struct Options: Codable, Hashable, Sendable {
  struct Colour: Codable, Hashable, Sendable {
    var red = 0.1
    var note: String?
  }
  var isBold = false
  var size = 10
  var date = Date(timeIntervalSinceReferenceDate: 0.1)
  var colour = Colour()
  var recent: [String] = []
  var counts: [String: UInt64] = [:]
}

/// A client whose restoration waits for its gate.
private struct OptionsClient: Persistable {
  static let persistedKeys = ["options", "count", "list"]
  let persistence: any PersistenceCapability
  let gate = Locked(false)
  @ClientState var options = Options()
  @ClientState var count = 0
  @ClientState var list: [Int] = []

  init(persistence: any PersistenceCapability) { self.persistence = persistence }

  func persistState() async throws {
    try await persistence.save(options, for: "options")
    try await persistence.save(count, for: "count")
    try await persistence.save(list, for: "list")
  }
  func restoreState() async throws {
    while !gate.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    if let saved = try await persistence.load(Options.self, for: "options") { options = saved }
    if let saved = try await persistence.load(Int.self, for: "count") { count = saved }
    if let saved = try await persistence.load([Int].self, for: "list") { list = saved }
  }
}

/// Edits before a client is restored, and changes by others while it does not answer.
@Suite(.timeLimit(.minutes(5))) struct ClientEarlyEditTests {
  private let engine = MemoryEngine()
  private var store: TypedStore { TypedStore(engine: engine, codec: JSONCodec(sortedKeys: true)) }

  private func loading() async throws -> (ClientSession, PersistedClient<OptionsClient>) {
    let session = ClientSession(engine: engine, interval: .seconds(3_600), patience: .milliseconds(20))
    let client = try await session.start { OptionsClient(persistence: $0) }
    #expect(!client.state.isLoaded)
    return (session, client)
  }

  private func load(_ client: PersistedClient<OptionsClient>) async throws {
    client.client.gate.withLock { $0 = true }
    try await waitUntil("the client is restored") { client.state.isLoaded }
  }

  @Test func aFieldThatIsChangedBeforeTheLoadDoesNotReplaceTheOthers() async throws {
    var stored = Options(isBold: true, size: 20, date: .now, colour: .init(red: 0.7, note: "x"), recent: ["a"])
    stored.counts = ["a": .max]
    try await store.save(stored, for: "options")
    try await store.save([1, 2], for: "list")
    let (session, client) = try await loading()
    client.client.options.size = 30
    client.client.options.colour.red = 0.3
    client.client.options.recent.append("b")
    client.client.options.counts["b"] = 1
    client.client.list.append(3)
    try await load(client)
    stored.size = 30
    stored.colour.red = 0.3
    stored.recent = ["a", "b"]
    stored.counts["b"] = 1
    #expect(client.client.options == stored && client.client.list == [1, 2, 3] && client.lastError == nil)
    try await session.save()
    #expect(try await store.load(Options.self, for: "options") == stored)
    #expect(try await store.load([Int].self, for: "list") == [1, 2, 3])
  }

  @Test func aWholeValueReplacesWhatIsStored() async throws {
    try await store.save(Options(isBold: true, size: 20), for: "options")
    try await store.save(40, for: "count")
    let (session, client) = try await loading()
    client.client.options = Options(size: 30)
    client.client.options.recent = ["a"]
    client.client.count = 1
    try await load(client)
    try await session.save()
    #expect(try await store.load(Options.self, for: "options") == Options(size: 30, recent: ["a"]))
    #expect(try await store.load(Int.self, for: "count") == 1)
  }

  @Test func aChangeInPlaceThatCannotBeAppliedIsGivenUpAndStated() async throws {
    try await store.save(40, for: "count")
    let (session, client) = try await loading()
    client.client.count += 1
    try await load(client)
    #expect(client.client.count == 40 && client.lastError?.code == .notLoaded)
    try await session.save()
    #expect(try await store.load(Int.self, for: "count") == 40)
    client.client.count += 1
    try await session.save()
    #expect(try await store.load(Int.self, for: "count") == 41)
  }

  @Test func withoutAStoredValueEachChangeIsKept() async throws {
    let (session, client) = try await loading()
    client.client.count += 1
    client.client.options.size = 30
    try await load(client)
    #expect(client.lastError == nil)
    try await session.save()
    #expect(try await store.load(Int.self, for: "count") == 1)
    #expect(try await store.load(Options.self, for: "options")?.size == 30)
    #expect(try await store.exists("list") == false, "a default is not stored because something else was edited")
  }

  @Test func aChangeByOthersWhileAClientDoesNotAnswerIsRestoredLater() async throws {
    let session = ClientSession(engine: engine, interval: .seconds(3_600), patience: .milliseconds(20))
    let client = try await session.start { SlowClient(persistence: $0) }
    client.client.other = 1
    #expect(await codeThrown { try await session.save() } == .busy)
    try await store.save(7, for: "number")
    try await Task.sleep(for: .milliseconds(50))
    #expect(client.client.number == 0)
    client.client.gate.withLock { $0 = true }
    try await waitUntil("the change is restored") { client.client.number == 7 }
  }
}

/// A client whose `persistState()` waits for its gate after an edit.
private struct SlowClient: Persistable {
  static let persistedKeys = ["number", "other"]
  let persistence: any PersistenceCapability
  let gate = Locked(false)
  @ClientState var number = 0
  @ClientState var other = 0

  init(persistence: any PersistenceCapability) { self.persistence = persistence }

  func persistState() async throws {
    while other != 0, !gate.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    try await persistence.save(number, for: "number")
    try await persistence.save(other, for: "other")
  }
  func restoreState() async throws {
    if let saved = try await persistence.load(Int.self, for: "number") { number = saved }
    if let saved = try await persistence.load(Int.self, for: "other") { other = saved }
  }
}
