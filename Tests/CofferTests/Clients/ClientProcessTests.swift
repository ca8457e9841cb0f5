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

  /// The interval of the helper is an hour: only its last call saves.
  // Requirement 1.61
  @Test func aSaveBeforeTheEndLosesNothing() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("clients.db")
    let helper = try HelperProcess(["client", path, "exit", "3600"])
    #expect(try helper.line() == "edited")
    #expect(helper.wait() == 0)
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
}
