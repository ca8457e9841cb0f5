import CofferTestSupport
import Foundation
import Testing

/// Tests of databases that this user may not write.
@Suite("Read-only databases", .serialized)
struct ReadOnlyDatabaseTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// A condition that prevents writes, and the reason in the error.
  struct Condition: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A command that is run in the folder of the store.
    let prepare: String
    let reason: String
    var mount = false
  }

  static let conditions = [
    Condition(testDescription: "a file without rights", prepare: "chmod 444 a.db", reason: "may not write the file"),
    Condition(
      testDescription: "a directory without rights", prepare: "rm -f a.db-*; chmod 555 .",
      reason: "may not write its directory"),
    Condition(
      testDescription: "a directory and files without rights", prepare: "chmod 444 *; chmod 555 .",
      reason: "may not write the file"),
    Condition(testDescription: "a read-only file system", prepare: "true", reason: "mounted read-only", mount: true),
    Condition(
      testDescription: "a read-only file system without our files", prepare: "rm -f a.db-*",
      reason: "mounted read-only",
      mount: true),
  ]

  @Test("Every command that reads works, and commands that write report the reason", arguments: conditions)
  func commands(_ condition: Condition) async throws {
    guard canLosePrivileges else { return print("Not checked: \(condition.testDescription), for want of setpriv.") }
    let prepared = try await sandbox.bash(
      "mkdir d && coffer set a 1 --store d/a.db && coffer set b 2 --store d/a.db && cd d && \(condition.prepare)")
    try #require(prepared.status == 0, "\(prepared.errors)")
    defer { chmod(sandbox.path("d"), 0o700) }
    let mount = condition.mount ? try ReadOnlyMount(of: sandbox.path("d"), at: sandbox.path("m")) : nil
    guard mount != nil || !condition.mount else { return print("Not checked: \(condition.testDescription).") }
    defer { withExtendedLifetime(mount) {} }
    let store = condition.mount ? "m/a.db" : "d/a.db"
    func run(_ line: String) async throws -> EndedProgram {
      try await sandbox.bash("\(unprivileged) coffer \(line)".replacing("STORE", with: "--store \(store)"))
    }
    let before = try FileManager.default.contentsOfDirectory(atPath: sandbox.path("d")).sorted()
    #expect(try await run("get a STORE").text == "1")
    #expect(try await run("get a STORE --read-only").text == "1")
    #expect(try await run("get none STORE").status == 3)
    #expect(try await run("ls STORE").lines == ["a", "b"])
    let info = try await run("info STORE --json").json()
    #expect(info["keys"] as? Int == 2 && info["readOnly"] as? Bool == true, "\(info)")
    let verified = try await run("verify STORE")
    #expect(verified.status == 0 && verified.errors.contains("all good"), "\(verified.errors)")
    let copied = try await run("cp \(store) copy.db --json")
    #expect(try copied.json()["copied"] as? Int == 2, "\(copied.errors)")
    let watched = try await run("watch STORE --since 0 --count 2 --json")
    #expect(watched.lines.count == 2, "\(watched.status) \(watched.text) \(watched.errors)")
    for command in ["set a new STORE", "rm a STORE", "cp copy.db \(store)"] {
      let ended = try await run(command)
      let isUnchanged = command.hasPrefix("cp")  // Nothing needs to be written.
      #expect(ended.status == (isUnchanged ? 0 : 1), "\(command): \(ended.errors)")
      #expect(isUnchanged || ended.errors.contains("open for reading only"), "\(command): \(ended.errors)")
      #expect(isUnchanged || ended.errors.contains(condition.reason), "\(command): \(ended.errors)")
      #expect(!ended.errors.contains("--read-only"), "\(command): \(ended.errors)")
    }
    #expect(try await run("get a STORE").text == "1")
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("d")).sorted() == before)
    let none = try await run("get a --store \(condition.mount ? "m" : "d")/none.db")
    #expect(none.status == 3 && none.errors.contains("There is no store"), "\(none.errors)")
  }
}
