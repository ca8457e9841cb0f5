import Coffer
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Edits of clients when their process ends.
@Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct ClientProcessTests {
  private func number(in path: String) async throws -> Int? {
    let engine = try await SQLiteEngine.open(at: path)
    let number = try await TypedStore(engine: engine).load(Int.self, for: "number")
    try await engine.close()
    return number
  }

  /// The interval of the helper is an hour: only the end of the process saves.
  // Requirement 1.61
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

  // Requirement 1.61
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

  // Requirement 1.61
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
