import CofferTestSupport
import Foundation
import Testing

/// `coffer watch` on stores that are removed, replaced or put back from a copy.
@Suite("watch of a replaced store", .serialized)
struct WatchReplacedTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// A store, the files of which it consists, and another store of the same kind with its files.
  struct Kind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let files: String
    let other: String
    let otherFiles: String
  }

  static let kinds = [
    Kind(testDescription: "store.db", files: "store.db store.db-*", other: "other.db", otherFiles: "other.db"),
    Kind(testDescription: "file:f", files: "f", other: "file:g", otherFiles: "g"),
    Kind(testDescription: "prefs:p", files: ".config", other: "", otherFiles: ""),
  ]

  /// What happens to the store; `STORE`, `FILES` and `OTHER` stand for the kind's.
  static let steps = [
    // What the watch creates meanwhile is removed by the second one.
    "rm -r FILES || rm -rf FILES", "rm -rf FILES; coffer set z 1 --store STORE", "rm -rf FILES; mv OTHER FILE",
    "cp OTHER FILE",
  ]

  @Test("It says that the store is gone or another one", arguments: kinds, steps)
  func replaced(_ kind: Kind, _ step: String) async throws {
    guard !step.contains("OTHER") || !kind.other.isEmpty, !step.hasPrefix("cp") || kind.other.hasSuffix(".db") else {
      return  // Only a database is one file, which can be overwritten.
    }
    for access in [[], ["--read-only"]] {
      let store = ["--store", kind.testDescription]
      for key in ["a", "b", "c"] { try await sandbox.coffer(["set", key, "1"] + store) }
      if !kind.other.isEmpty { try await sandbox.coffer("set", "z", "1", "--store", kind.other) }
      let words = (["watch", "--since", "0", "--json"] + store + access).joined(separator: " ")
      let watch = try sandbox.startCoffer(["watch", "--since", "0", "--json"] + store + access)
      try await eventually("the commits before") { try watch.output().contains(#""key":"c""#) }
      let file = kind.files.split(separator: " ")[0]
      let line = step.replacing("FILES", with: kind.files).replacing("FILE", with: file)
        .replacing("OTHER", with: kind.otherFiles).replacing("STORE", with: kind.testDescription)
      let done = try await sandbox.bash(line)
      #expect(done.status == 0, "\(done)")
      try await eventually("a word about it: \(words); \(line)") {
        let output = try watch.output()
        return output.contains(#""event":"unavailable""#) || output.contains(#""event":"reload""#)
      }
      watch.signal(SIGTERM)
      let ended = try await watch.ended()
      if ended.status == 1 {
        let reason = /can no longer be watched: The .* (moved|removed|deleted|replaced)/
        #expect(ended.errors.contains(reason), "\(ended)")
      }
      try await sandbox.bash("rm -rf \(kind.files) \(kind.otherFiles)")
    }
  }

  private func printed(_ words: String...) async throws -> [String] {
    let ended = try await sandbox.coffer(["watch", "--json"] + words)
    return try ended.jsonLines().map { "\($0["event"] as? String ?? "?") \($0["key"] as? String ?? "-")" }
  }

  @Test("An older copy is a reload that lists what is there")
  func olderCopy() async throws {
    for key in ["a", "b"] { try await sandbox.coffer("set", key, "1") }
    try await sandbox.bash("cp store.db copy")
    for key in ["c", "d"] { try await sandbox.coffer("set", key, "1") }
    try await sandbox.bash("cp copy store.db")
    try await sandbox.coffer("set", "e", "1")
    #expect(
      try await printed("--since", "4", "--count", "5") == ["reload -", "present a", "present b", "present e", "put e"])
    #expect(try await printed("e", "--since", "4", "--count", "2") == ["reload -", "present e"])
    let text = try await sandbox.coffer("watch", "--since", "4", "--count", "2").text
    #expect(text.contains("  reload   -") && text.hasSuffix("  present  -         a\n"), "\(text)")
  }

  /// The copies of the database and of its wake-up file agree with each other.
  @Test("A position whose revision has become another commit is a reload")
  func samePosition() async throws {
    for key in ["a", "b"] { try await sandbox.coffer("set", key, "1") }
    try await sandbox.bash("mkdir copy; cp -a store.db* copy")
    for key in ["c", "d"] { try await sandbox.coffer("set", key, "1") }
    let last = try await sandbox.coffer("watch", "--since", "3", "--count", "1", "--json").json()
    let position = try #require(last["position"] as? String)
    #expect(last["key"] as? String == "d" && position.hasSuffix(":4"))
    try await sandbox.coffer("set", "x", "1")
    #expect(try await printed("--since", position, "--count", "1") == ["put x"])
    try await sandbox.bash("cp -a copy/* .")
    for key in ["e", "f", "g"] { try await sandbox.coffer("set", key, "1") }
    let now = try await printed("--since", position, "--count", "6")
    #expect(now == ["reload -", "present a", "present b", "present e", "present f", "present g"])
    let wrong = try await sandbox.coffer("watch", "--since", "zz:4", "--count", "1")
    #expect(wrong.status == 2, "\(wrong)")
  }
}
