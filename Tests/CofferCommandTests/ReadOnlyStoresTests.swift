import CofferTestSupport
import Foundation
import Testing

/// Tests of slot stores that this user may not write.
@Suite("Read-only slot stores", .serialized)
struct ReadOnlyStoresTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  struct Kind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The location, in which `DIR` stands for the directory with all files of the store.
    let store: String
    var options = ""
  }

  /// A condition that prevents writes, the reason in the error, and the program that starts the commands.
  struct Condition: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A command that is run in the directory of the store.
    let prepare: String
    let reason: String
    var by = unprivileged
    var mount = false
    var needsRoot = false
  }

  static let kinds = [
    Kind(testDescription: "files", store: "file:DIR/f"),
    Kind(testDescription: "preferences", store: "prefs:p"),
    Kind(testDescription: "sealed", store: "sealed:DIR/s", options: "--passphrase-file words"),
  ]

  static let conditions = [
    Condition(testDescription: "without rights", prepare: "chmod -R a-w .", reason: "may not write"),
    Condition(
      testDescription: "a read-only mount", prepare: "true", reason: "mounted read-only", by: "env", mount: true),
    Condition(
      testDescription: "another user's", prepare: "chmod -R a+rX,u+w . && chown 65534 ../words",
      reason: "may not write", by: "setpriv --reuid 65534 --regid 65534 --clear-groups", needsRoot: true),
  ]

  @Test("Every command that reads works, and commands that write report the reason", arguments: kinds, conditions)
  func commands(_ kind: Kind, _ condition: Condition) async throws {
    let name = "\(kind.testDescription), \(condition.testDescription)"
    guard canLosePrivileges, !condition.needsRoot || getuid() == 0 else {
      return print("Not checked: \(name), for want of setpriv or root.")
    }
    func line(_ words: String, in directory: String, by: String) -> String {
      let store = kind.store.replacing("DIR", with: directory)
      let command = words.replacing("STORE", with: store)
      return "XDG_CONFIG_HOME=\(sandbox.path(directory)) \(by) \"$(command -v coffer)\" \(command) \(kind.options)"
    }
    let sets = ["a 1", "b 2"].map { pair in
      let parts = pair.split(separator: " ")
      return "printf \(parts[1]) | \(line("set \(parts[0]) - --store STORE", in: "d", by: "env"))"
    }
    let prepared = try await sandbox.bash(
      "chmod 755 .; mkdir d; (umask 077; printf 'open sesame' > words); \(sets.joined(separator: " && ")) "
        + "&& cd d && \(condition.prepare)")
    try #require(prepared.status == 0, "\(prepared.errors)")
    let mount = condition.mount ? try ReadOnlyMount(of: sandbox.path("d"), at: sandbox.path("m")) : nil
    guard mount != nil || !condition.mount else { return print("Not checked: \(name), which this user may not mount.") }
    defer { withExtendedLifetime(mount) {} }
    func run(_ words: String, from input: String = ":") async throws -> EndedProgram {
      try await sandbox.bash("\(input) | " + line(words, in: condition.mount ? "m" : "d", by: condition.by))
    }
    let before = try FileManager.default.subpathsOfDirectory(atPath: sandbox.path("d")).sorted()
    #expect(try await run("get a --store STORE").text == "1")
    #expect(try await run("get none --store STORE").status == 3)
    #expect(try await run("ls --store STORE").lines == ["a", "b"])
    let info = try await run("info --json --store STORE")
    #expect(try info.json()["keys"] as? Int == 2 && info.json()["readOnly"] as? Bool == true, "\(info.text)")
    let verified = try await run("verify --store STORE")
    #expect(verified.status == 0 && verified.errors.contains("all good"), "\(verified.errors)")
    let copied = try await run("cp STORE memory: --json")
    #expect(copied.status == 0, "\(copied.errors)")
    let watched = try await run("watch --since 0 --count 2 --json --store STORE")
    // A busy store may become unavailable and available again meanwhile, which --count leaves out.
    let events = try watched.jsonLines().filter { $0["revision"] is Int }
    #expect(events.compactMap { $0["key"] as? String } == ["a", "b"], "\(watched.text) \(watched.errors)")
    #expect(watched.status == 0)
    let doctor = try await run("doctor STORE")
    #expect(doctor.status == 0 && doctor.text.contains("warning"), "\(doctor.text)")
    for command in ["set a -", "rm a"] {
      let ended = try await run("\(command) --store STORE", from: "printf new")
      #expect(ended.status == 1 && ended.errors.contains("open for reading only"), "\(command): \(ended.errors)")
      #expect(ended.errors.contains(condition.reason), "\(command): \(ended.errors)")
      #expect(!ended.errors.contains("--read-only"), "\(command): \(ended.errors)")
    }
    #expect(try await run("get a --store STORE").text == "1")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: sandbox.path("d")).sorted() == before)
    try await sandbox.bash("chmod -R u+w d")
  }
}
