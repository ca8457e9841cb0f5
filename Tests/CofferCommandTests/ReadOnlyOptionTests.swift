import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Tests of `--read-only` on stores that could be written.
@Suite("The option --read-only", .serialized)
struct ReadOnlyOptionTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let store: String
    var options = ""
  }

  static let kinds = [
    Kind(testDescription: "database", store: "d/a.db"), Kind(testDescription: "files", store: "file:d/f"),
    Kind(testDescription: "preferences", store: "prefs:p"),
    Kind(testDescription: "sealed", store: "sealed:d/s", options: "--passphrase-file words"),
  ]

  // Requirement 5.6
  @Test("Every command that reads works and changes nothing, and writes are refused", arguments: kinds)
  func everyReadingCommand(_ kind: Kind) async throws {
    let sandbox = try Sandbox()
    func run(_ words: String, input: String = "") async throws -> EndedProgram {
      try await sandbox.bash("printf '\(input)' | XDG_CONFIG_HOME=$PWD/d coffer \(words) \(kind.options)")
    }
    let store = "--store \(kind.store)"
    try await sandbox.bash("mkdir d; (umask 077; printf 'open sesame' > words)")
    for (key, value) in [("a", "1"), ("b", "2")] {
      let ended = try await run("set \(key) - \(store)", input: value)
      try #require(ended.status == 0, "\(ended.errors)")
    }
    let directory = URL(fileURLWithPath: sandbox.path("d"))
    let before = try DirectoryContents(of: directory)
    #expect(try await run("get a --read-only \(store)").text == "1")
    #expect(try await run("get none --read-only \(store)").status == 3)
    #expect(try await run("ls --read-only \(store)").lines == ["a", "b"])
    #expect(try await run("info --read-only --json \(store)").json()["readOnly"] as? Bool == true)
    #expect(try await !run("info --read-only \(store)").text.contains("cannot write"))
    #expect(try await run("verify --read-only \(store)").status == 0)
    #expect(try await run("watch --since 0 --count 2 --read-only \(store)").lines.count == 2)
    #expect(try await run("quarantine list --read-only \(store)").status == 0)
    #expect(try await run("cp \(kind.store) memory: --read-only").status == 0)
    let backup = try await run("backup copy --read-only \(store)")
    #expect(backup.status == (kind.store.hasPrefix("sealed") ? 1 : 0), "\(backup.errors)")
    let restored = try await run("quarantine restore 1-1 a --read-only \(store)")
    #expect(restored.status == 3, "\(restored.errors)")
    if kind.store == "d/a.db" {
      let accepted = try await run("verify --accept-loss --read-only \(store)")
      #expect(accepted.status == 1 && accepted.errors.contains("open for reading only"), "\(accepted.errors)")
      #expect(accepted.errors.contains("Omit --read-only"), "\(accepted.errors)")
    }
    #expect(try await run("set a 3 --read-only \(store)").status == 2)
    #expect(try await run("get a --read-only --store d/none.db").status == 3)
    #expect(try DirectoryContents(of: directory).changes(since: before) == [])
  }
}
