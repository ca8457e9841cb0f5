import Coffer
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

private struct NumberClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "number") }
  func restoreState() async throws {
    if let saved = try await persistence.load(Int.self, for: "number") { number = saved }
  }
}

/// Edits of clients when their process ends.
@Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct ClientProcessTests {
  private func number(in path: String) async throws -> Int? {
    let engine = try await SQLiteEngine.open(at: path)
    let number = try await TypedStore(engine: engine).load(Int.self, for: "number")
    try await engine.close()
    return number
  }

  /// The interval of the helper is an hour: only the end of the process saves.
  @Test(arguments: ["exit", "SIGTERM", "SIGINT"])
  func noEditIsLostAtTheEnd(ending: String) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, ending == "exit" ? "exit" : "wait", "3600"])
    #expect(try helper.line() == "edited")
    switch ending {
    case "SIGTERM": kill(helper.process.processIdentifier, SIGTERM)
    case "SIGINT": kill(helper.process.processIdentifier, SIGINT)
    default: break
    }
    let status = helper.wait()
    switch ending {
    case "SIGTERM": #expect(status == SIGTERM && helper.process.terminationReason == .uncaughtSignal)
    case "SIGINT": #expect(status == SIGINT && helper.process.terminationReason == .uncaughtSignal)
    default: #expect(status == 0 && helper.process.terminationReason == .exit)
    }
    #expect(try await number(in: path) == 7)
  }

  @Test func aKillAfterTheIntervalLosesNothing() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let engine = try await SQLiteEngine.open(at: path)
    let store = TypedStore(engine: engine)
    let changes = engine.changes(since: nil)
    let helper = try HelperProcess(["client", path, "wait", "0.3"])
    #expect(try helper.line() == "edited")
    for await _ in changes { break }
    helper.kill()
    #expect(try await store.load(Int.self, for: "number") == 7)
    try await engine.close()
  }

  /// The process need not stop: the kernel ignores `SIGTSTP` in an orphaned process group.
  @Test func aSuspendedProcessHasSaved() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let engine = try await SQLiteEngine.open(at: path)
    let changes = engine.changes(since: nil)
    let helper = try HelperProcess(["client", path, "wait", "3600"])
    #expect(try helper.line() == "edited")
    kill(helper.process.processIdentifier, SIGTSTP)
    for await _ in changes { break }
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "number") == 7)
    helper.kill()
    try await engine.close()
  }

  @Test func editsOfAnotherProcessArrive() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let engine = try await SQLiteEngine.open(at: path)
    let client = try await ClientSession(engine: engine).start { NumberClient(persistence: $0) }
    let helper = try HelperProcess(["client", path, "wait", "0.05"])
    #expect(try helper.line() == "edited")
    let deadline = ContinuousClock.now + .seconds(60)
    while client.client.number != 7, ContinuousClock.now < deadline { await Task.yield() }
    #expect(client.client.number == 7)
    helper.kill()
    try await engine.close()
  }

  @Test func theHandlerOfTheApplicationIsCalled() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, "handler", "3600"])
    #expect(try helper.line() == "edited")
    kill(helper.process.processIdentifier, SIGTERM)
    #expect(try helper.line() == "handled")
    #expect(helper.wait() == 9)
    #expect(try await number(in: path) == 7)
  }
}
