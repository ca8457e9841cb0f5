import Coffer
import CofferTestSupport
import Foundation
import Testing

/// Tests of `coffer schema` and `coffer migrate`.
@Suite("migrate", .serialized, .timeLimit(.minutes(5)))
struct MigrateTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func migrate(_ arguments: String...) async throws -> EndedProgram {
    try await sandbox.coffer(["migrate", "app.db"] + arguments + ["--json"])
  }

  private func value(_ key: String) async throws -> String {
    try await sandbox.coffer("get", key, "--store", "app.db").text
  }

  private func fill(_ count: Int) async throws {
    let engine = try await StoreLocation(sandbox.path("app.db")).open(StoreOptions())
    try await TypedStore(engine: engine).saveAll(
      (0..<count).map { ("n/\($0)" as String, "v\($0)") }, durability: .relaxed)
    try await engine.close()
  }

  @Test("Steps are chained, and steps back bring values back")
  func steps() async throws {
    try await fill(150)
    let steps = ["--step", "1:2:sed s/v/w/", "--step", "2:3:tr -d w", "--schema", "numbers", "--prefix", "n/"]
    let dry = try await sandbox.coffer(["migrate", "app.db"] + steps + ["--dry-run", "--json"])
    #expect(try dry.json()["migrated"] as? Int == 150 && dry.status == 0, "\(dry.errors)")
    #expect(try await value("n/7") == "v7")
    let run = try await sandbox.coffer(["migrate", "app.db"] + steps + ["--json"])
    #expect(try run.json()["migrated"] as? Int == 150 && run.status == 0, "\(run.errors)")
    #expect(try await value("n/7") == "7")
    let listed = try await sandbox.coffer("schema", "app.db", "--json").json()
    let versions = try #require(listed["versions"] as? [[String: Any]])
    #expect(versions.count == 1 && versions[0]["schema"] as? String == "numbers")
    #expect(versions[0]["version"] as? Int == 3 && versions[0]["values"] as? Int == 150)
    #expect(listed["unmarked"] as? Int == 0)
    // A new value keeps the version, so that it is not taken for version 1.
    try await sandbox.coffer("set", "n/7", "70", "--store", "app.db")
    let again = try await sandbox.coffer(["migrate", "app.db"] + steps + ["--json"])
    #expect(try again.json()["migrated"] as? Int == 0 && again.json()["current"] as? Int == 150)
    let back = try await migrate("--step", "3:2:sed s/^/w/", "--step", "2:1:tr w v")
    #expect(try back.json()["migrated"] as? Int == 150 && back.status == 0, "\(back.errors)")
    #expect(try await value("n/8") == "v8")
    #expect(try await value("n/7") == "v70")
    // Both directions at once.
    let both = try await migrate("--step", "1:2:cat", "--step", "3:2:cat")
    #expect(try both.json()["migrated"] as? Int == 150 && both.status == 0, "\(both.errors)")
  }

  @Test("A value that a step refuses stays as it is, with the message of the step")
  func refusals() async throws {
    try await fill(3)
    let step = "1:2:read x; if [ \"$x\" = v1 ]; then echo 'no 1' >&2; exit 3; fi; echo new"
    let run = try await migrate("--schema", "n", "--prefix", "n/", "--step", step)
    let report = try run.json()
    #expect(run.status == 1 && report["migrated"] as? Int == 2 && report["failed"] as? Int == 1, "\(run.errors)")
    let failure = try #require((report["failures"] as? [[String: Any]])?.first)
    #expect(failure["key"] as? String == "n/1")
    #expect((failure["message"] as? String)?.contains("status 3: no 1") == true)
    #expect(try await value("n/1") == "v1")
  }

  @Test("A step that hangs is killed with its children, and the value stays")
  func hanging() async throws {
    try await fill(1)
    let step = "1:2:sleep 600 & echo $! > child; wait"
    let run = try await migrate("--schema", "n", "--prefix", "n/", "--limit", "1", "--step", step)
    #expect(try run.status == 1 && run.json()["failed"] as? Int == 1, "\(run.errors)")
    let child = try #require(
      pid_t(String(decoding: try sandbox.read("child"), as: UTF8.self).trimmingCharacters(in: .newlines)))
    // A killed child may remain as a zombie of the process that adopted it.
    let state = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ") Z"
    #expect(state.contains(") Z"), "\(state)")
    #expect(try await value("n/0") == "v0")
  }

  @Test("Output without an end is bounded")
  func endless() async throws {
    try await fill(1)
    let run = try await migrate("--schema", "n", "--prefix", "n/", "--step", "1:2:yes")
    #expect(try run.status == 1 && run.json()["failed"] as? Int == 1, "\(run.errors)")
    #expect(try await value("n/0") == "v0")
  }

  @Test(
    "Wrong steps are refused before anything is read",
    arguments: [
      ["--step", "1:2"], ["--step", "2:1:cat", "--step", "1:2:cat"], ["--step", "1:2:cat", "--step", "1:3:cat"], [],
      ["--rollback"], ["--limit", "0"],
    ])
  func mistakes(_ arguments: [String]) async throws {
    try await fill(1)
    let run = try await sandbox.coffer(["migrate", "app.db", "--schema", "n"] + arguments)
    #expect(run.status == 2, "\(run.errors)")
  }
}
