import CofferTestSupport
import Foundation
import Testing

/// Homes in slots in places where this user may not write.
@Suite("Read-only homes", .serialized)
struct ReadOnlyHomesTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  struct Home: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// `DIR` stands for the directory that everything of it is in.
    let store: String
    var options = ""
  }

  /// Why nothing can be written, and by which program commands are started there.
  struct Place: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Run in the directory of the store.
    let prepare: String
    let reason: String
    var by = unprivileged
    var mount = false
    var needsRoot = false
  }

  static let homes = [
    Home(testDescription: "files", store: "file:DIR/f"),
    Home(testDescription: "preferences", store: "prefs:p"),
    Home(testDescription: "sealed", store: "sealed:DIR/s", options: "--passphrase-file words"),
  ]

  static let places = [
    Place(testDescription: "without rights", prepare: "chmod -R a-w .", reason: "may not write"),
    Place(testDescription: "a read-only mount", prepare: "true", reason: "mounted read-only", by: "env", mount: true),
    Place(
      testDescription: "another user's", prepare: "chmod -R a+rX,u+w . && chmod a+r ../words", reason: "may not write",
      by: "setpriv --reuid 65534 --regid 65534 --clear-groups", needsRoot: true),
  ]

  @Test("Every command that reads works, and writing says why it cannot be", arguments: homes, places)
  func commands(_ home: Home, _ place: Place) async throws {
    let name = "\(home.testDescription), \(place.testDescription)"
    guard canLosePrivileges, !place.needsRoot || getuid() == 0 else {
      return print("Not checked: \(name), for want of setpriv or root.")
    }
    func line(_ words: String, in directory: String, by: String) -> String {
      let store = home.store.replacing("DIR", with: directory)
      let command = words.replacing("STORE", with: store)
      return "XDG_CONFIG_HOME=\(sandbox.path(directory)) \(by) \"$(command -v coffer)\" \(command) \(home.options)"
    }
    let sets = ["a 1", "b 2"].map { pair in
      let parts = pair.split(separator: " ")
      return "printf \(parts[1]) | \(line("set \(parts[0]) - --store STORE", in: "d", by: "env"))"
    }
    let prepared = try await sandbox.bash(
      "chmod 755 .; mkdir d; (umask 077; printf 'open sesame' > words); \(sets.joined(separator: " && ")) "
        + "&& cd d && \(place.prepare)")
    try #require(prepared.status == 0, "\(prepared.errors)")
    let mount = place.mount ? try ReadOnlyMount(of: sandbox.path("d"), at: sandbox.path("m")) : nil
    guard mount != nil || !place.mount else { return print("Not checked: \(name), which this user may not mount.") }
    defer { withExtendedLifetime(mount) {} }
    func run(_ words: String, from input: String = ":") async throws -> EndedProgram {
      try await sandbox.bash("\(input) | " + line(words, in: place.mount ? "m" : "d", by: place.by))
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
    #expect(try await run("watch --since 0 --count 2 --json --store STORE").lines.count == 2)
    let doctor = try await run("doctor STORE")
    #expect(doctor.status == 0 && doctor.text.contains("warning"), "\(doctor.text)")
    for command in ["set a -", "rm a"] {
      let ended = try await run("\(command) --store STORE", from: "printf new")
      #expect(ended.status == 1 && ended.errors.contains("open for reading only"), "\(command): \(ended.errors)")
      #expect(ended.errors.contains(place.reason), "\(command): \(ended.errors)")
    }
    #expect(try await run("get a --store STORE").text == "1")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: sandbox.path("d")).sorted() == before)
    try await sandbox.bash("chmod -R u+w d")
  }
}
