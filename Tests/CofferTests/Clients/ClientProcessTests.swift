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
  private func number(in path: String, _ key: StoreKey = "number") async throws -> Int? {
    let engine = try await SQLiteEngine.open(at: path)
    let number = try await TypedStore(engine: engine).load(Int.self, for: key)
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

  /// `exit` in a task blocks the only thread of the pool; the helper, in a task, waits for nothing else.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/taskset")), arguments: ["exit", "back"])
  func nothingIsLostByAnExitInATaskOnOneProcessor(mode: String) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, mode, "3600"], by: ["/usr/bin/taskset", "-c", "0"])
    #expect(try helper.line() == "edited")
    #expect(helper.wait() == 0)
    #expect(try await number(in: path) == 7)
  }

  /// A forked child has the handlers of its parent, but not the thread that saves.
  @Test(.disabled(if: isThreadSanitized, "the thread sanitizer lets no forked child go on as before"))
  func aForkedChildEndsBySignalsAndItsParentGoesOn() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, "fork", "3600"])
    #expect(try helper.line() == "edited")
    let child = try #require(try helper.line()?.split(separator: " ").last.flatMap { pid_t($0) })
    kill(child, SIGTERM)
    #expect(try helper.line() == "ended \(SIGTERM)")
    #expect(try await number(in: path) == nil)
    kill(helper.process.processIdentifier, SIGTERM)
    #expect(helper.wait() == SIGTERM)
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

  /// Returns the state of a process, such as `T` for a stopped one.
  private func processState(_ helper: HelperProcess) throws -> Character? {
    let text = try String(contentsOfFile: "/proc/\(helper.process.processIdentifier)/stat", encoding: .utf8)
    return text.split(separator: ")").last?.first { $0 != " " }
  }

  /// Returns whether the handler of `SIGTSTP` is in place, which is replaced while the process stops.
  private func handlesStops(_ helper: HelperProcess) throws -> Bool {
    let text = try String(contentsOfFile: "/proc/\(helper.process.processIdentifier)/status", encoding: .utf8)
    let caught = text.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t").last
    return caught.flatMap { UInt64($0, radix: 16) }.map { $0 & 1 << (UInt64(SIGTSTP) - 1) != 0 } ?? false
  }

  /// A process in a group of its own, whose parent is in another group of the session, can be stopped.
  @Test func aSuspendedProcessHasSavedIsStoppedAndGoesOn() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, "repeat", "3600"])
    for value in [7, 8] {
      #expect(try helper.line() == "edited")
      kill(helper.process.processIdentifier, SIGTSTP)
      try await waitUntil("the process is stopped") { try processState(helper) == "T" }
      #expect(try await number(in: path) == value)
      kill(helper.process.processIdentifier, SIGCONT)
      try await waitUntil("the process goes on") { try processState(helper) != "T" && handlesStops(helper) }
      helper.tell("again")
    }
    #expect(try helper.line() == "edited")
    kill(helper.process.processIdentifier, SIGTERM)
    #expect(helper.wait() == SIGTERM)
    #expect(try await number(in: path) == 9)
  }

  /// The main thread calls `exit` in synchronous code: what is isolated to the main actor is saved by it.
  @Test func exitOnTheMainThreadSavesClientsOfTheMainActor() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, "main-thread", "3600"])
    #expect(try helper.line() == "edited")
    #expect(helper.wait() == 0)
    #expect(try await number(in: path) == 7)
    #expect(try await number(in: path, "main/number") == 7)
  }

  /// The main actor is blocked by the `exit` that one of its tasks calls: its clients cannot be asked, the others can.
  @Test func exitInATaskOfTheMainActorEndsAndSavesOtherClients() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, "main-task", "3600"])
    #expect(try helper.line() == "edited")
    #expect(helper.wait() == 0 && helper.process.terminationReason == .exit)
    #expect(try await number(in: path) == 7)
  }

  /// A signal is handled on a thread of its own, so that the main actor can be asked.
  @Test func aSignalSavesClientsOfTheMainActor() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, "main-wait", "3600"])
    #expect(try helper.line() == "edited")
    kill(helper.process.processIdentifier, SIGTERM)
    #expect(helper.wait() == SIGTERM)
    #expect(try await number(in: path, "main/number") == 7)
  }

  @Test func editsOfAnotherProcessArrive() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let engine = try await SQLiteEngine.open(at: path)
    let client = try await ClientSession(engine: engine).start { NumberClient(persistence: $0) }
    let helper = try HelperProcess(["client", path, "wait", "0.05"])
    #expect(try helper.line() == "edited")
    try await waitUntil("the edit arrives") { client.client.number == 7 }
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
