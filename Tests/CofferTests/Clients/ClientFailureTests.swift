import CofferCore
import CofferPersistence
import CofferTesting
import Foundation
import Testing

/// A client whose value can be refused, and which records the task-local value of its calls.
private struct TextClient: Persistable {
  @TaskLocal static var caller = ""
  static let persistedKeys = ["text", "limit"]
  let persistence: any PersistenceCapability
  let log = CallerLog()
  @ClientState var text = ""
  @ClientState var limit = 0.5

  func persistState() async throws {
    log.add(Self.caller)
    try await persistence.save(limit, for: "limit")
    try await persistence.save(text, for: "text")
  }
  func restoreState() async throws {
    if let saved = try await persistence.load(Double.self, for: "limit") { limit = saved }
    if let saved = try await persistence.load(String.self, for: "text") { text = saved }
  }
}

private final class CallerLog: Sendable {
  private let callers = Locked<Set<String>>([])
  var all: Set<String> { callers.withLock { $0 } }
  func add(_ caller: String) { callers.withLock { _ = $0.insert(caller) } }
}

/// A client whose calls start tasks that go on after them.
private struct StartingClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  let gate = AsyncStream<Void>.makeStream()
  let ended = AsyncStream<Void>.makeStream()
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "number") }
  func restoreState() async throws {
    Task {
      for await _ in gate.stream { break }
      number = 5
      try await persistence.save(9, for: "other")
      ended.continuation.yield()
    }
  }
}

/// A client that saves its session in `persistState()`.
private struct RecursiveClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  let session: ClientSession

  func persistState() async throws { try await session.save() }
}

/// Clients that cannot be loaded or saved, beside others that can.
@Suite(.timeLimit(.minutes(10))) struct ClientFailureTests {
  let engine = MemoryEngine()
  let clock = ManualClock()

  private func session(_ engine: (any StorageEngine)? = nil) -> ClientSession {
    ClientSession(engine: engine ?? self.engine, clock: clock)
  }

  @Test(arguments: [true, false])
  func aValueThatIsTooLargeDoesNotKeepBackOtherClients(isAtomic: Bool) async throws {
    let probe = ProbeEngine(engine, without: isAtomic ? [] : [.atomicBatches], maximumValueSize: 100)
    let session = session(probe)
    var clients: [TextClient] = []
    for name in ["a/", "b/", "c/"] {
      clients.append(try await session.start(prefix: name) { TextClient(persistence: $0) })
    }
    for client in clients { client.text = "x" }
    clients[1].text = String(repeating: "x", count: 101)
    #expect(await codeThrown { try await session.save() } == .valueTooLarge)
    #expect(session.lastError?.key == "b/text")
    let store = TypedStore(engine: engine)
    for key in ["a/text", "c/text"] as [KeyName] { #expect(try await store.load(String.self, for: key) == "x") }
    #expect(try await store.load(String.self, for: "b/text") == nil && session.hasPendingEdits)
    // The edit is kept for the next attempt.
    clients[1].text.removeLast()
    try await session.save()
    #expect(try await store.load(String.self, for: "b/text")?.count == 100)
    #expect(session.lastError == nil && !session.hasPendingEdits)
  }

  /// Without atomic batches, a save that fails may have stored some of its values.
  @Test func aValueOfAFailedSaveIsStoredAgainOnceItIsSetBack() async throws {
    let session = session(ProbeEngine(engine, without: [.atomicBatches], maximumValueSize: 100))
    var clients: [TextClient] = []
    // The order of the values differs between clients: some of them store the limit before the text fails.
    for number in 0..<20 {
      clients.append(try await session.start(prefix: "\(number)/") { TextClient(persistence: $0) })
    }
    for client in clients {
      client.limit = 2
      client.text = String(repeating: "x", count: 101)
    }
    #expect(await codeThrown { try await session.save() } == .valueTooLarge)
    for client in clients {
      client.limit = 0.5
      client.text = ""
    }
    try await session.save()
    let store = TypedStore(engine: engine)
    for number in 0..<20 { #expect(try await store.load(Double.self, for: KeyName("\(number)/limit")) == 0.5) }
  }

  @Test func aValueThatCannotBeEncodedDoesNotKeepBackOtherClients() async throws {
    let session = session()
    let good = try await session.start(prefix: "a/") { TextClient(persistence: $0) }
    let bad = try await session.start(prefix: "b/") { TextClient(persistence: $0) }
    good.text = "x"
    bad.limit = .infinity
    #expect(await codeThrown { try await session.save() } == .encodingFailed)
    #expect(session.lastError?.key == "b/limit")
    #expect(try await TypedStore(engine: engine).load(String.self, for: "a/text") == "x")
    bad.limit = 2
    try await session.save()
    #expect(try await TypedStore(engine: engine).load(Double.self, for: "b/limit") == 2)
  }

  @Test func aClosedStoreEndsTheTimer() async throws {
    let session = session()
    let client = try await session.start { TextClient(persistence: $0) }
    client.text = "x"
    await clock.waitForSleepers()
    try await engine.close()
    clock.advance(by: .milliseconds(300))
    try await eventually("the save fails") { session.lastError?.code == .closed }
    #expect(await codeThrown { try await session.save() } == .closed)
    #expect(clock.sleeperCount == 0 && session.hasPendingEdits)
    // Another edit is tried once.
    client.text = "y"
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(300))
    #expect(await codeThrown { try await session.save() } == .closed)
    #expect(clock.sleeperCount == 0)
  }

  @Test func clientsAreSavedWithoutTheTaskLocalsOfACaller() async throws {
    let session = session()
    let client = try await TextClient.$caller.withValue("creator") {
      try await session.start { TextClient(persistence: $0) }
    }
    client.text = "x"
    try await TextClient.$caller.withValue("saver") { try await session.save() }
    #expect(client.log.all == ["creator", ""])
  }

  @Test func aTaskOfARestorationEditsAfterIt() async throws {
    let session = session()
    let client = try await session.start { StartingClient(persistence: $0) }
    client.gate.continuation.yield()
    for await _ in client.ended.stream { break }
    #expect(session.hasPendingEdits && client.number == 5)
    try await session.save()
    let store = TypedStore(engine: engine)
    #expect(try await store.load(Int.self, for: "number") == 5)
    #expect(try await store.load(Int.self, for: "other") == 9)
  }

  @Test func aClientThatSavesItsSessionDoesNotWaitForItself() async throws {
    let session = session()
    let code = await codeThrown {
      _ = try await session.start { RecursiveClient(persistence: $0, session: session) }
    }
    #expect(code == .unsupported)
  }

  // Requirements 1.22, 1.24
  @Test func aFailedLoadKeepsWhatIsStored() async throws {
    let store = TypedStore(engine: engine)
    try await store.save(Theme.dark, for: "theme")
    let probe = ProbeEngine(engine)
    probe.fail(unavailable)
    let session = session(probe)
    let revision = engine.latestRevision
    #expect(await codeThrown { _ = try await session.start { PrintedClient(persistence: $0) } } == .unavailable)
    probe.fail(nil)
    try await session.save()
    #expect(engine.latestRevision == revision)
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    #expect(preferences.theme == .dark)
    preferences.language = "fr"
    try await session.save()
    #expect(try await store.load(Theme.self, for: "theme") == .dark)
    #expect(try await store.load(String.self, for: "language") == "fr")
  }

  /// The bytes of a value that cannot be read may be all that is left of it: nothing replaces them, also if the client
  /// uses its default instead.
  @Test func aValueThatCannotBeReadIsNotReplaced() async throws {
    let store = TypedStore(engine: engine)
    try await store.save("no number", for: "number")
    let session = session()
    let error = await #expect(throws: StorageError.self) {
      try await session.start { LenientClient(persistence: $0) }
    }
    #expect(error?.code == .decodingFailed && error?.key == "number")
    try await session.save()
    #expect(try await store.load(String.self, for: "number") == "no number")
    try await store.save(5, for: "number")
    #expect(try await session.start { LenientClient(persistence: $0) }.number == 5)
  }

  /// A client may read what an earlier version of it has stored as another type.
  @Test func aLoadThatSucceedsAsAnotherTypeIsNoFailure() async throws {
    let store = TypedStore(engine: engine)
    try await store.save("7", for: "number")
    let session = session()
    let started = try await session.start { ConvertingClient(persistence: $0) }
    #expect(started.number == 7)
    started.number = 8
    try await session.save()
    #expect(try await store.load(Int.self, for: "number") == 8)
  }
}

private struct ConvertingClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "number") }
  func restoreState() async throws {
    do {
      if let saved = try await persistence.load(Int.self, for: "number") { number = saved }
    } catch {
      number = try await persistence.load(String.self, for: "number").flatMap { Int($0) } ?? 0
    }
  }
}

private struct LenientClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "number") }
  func restoreState() async throws { number = (try? await persistence.load(Int.self, for: "number")) ?? 1 }
}
