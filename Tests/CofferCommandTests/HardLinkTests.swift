import CofferTestSupport
import Foundation
import Testing

/// A store whose file has two names would have two histories: SQLite keeps a log for each name, and the other stores
/// replace a file under one of them.
@Suite("Hard links", .serialized)
struct HardLinkTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func expectRefusal(_ ended: EndedProgram, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(
      ended.status == 1 && ended.errors.contains("2 names (hard links)"), "\(ended)", sourceLocation: sourceLocation)
    #expect(ended.errors.contains("Nothing was changed."), "\(ended)", sourceLocation: sourceLocation)
  }

  private func expectProblem(_ store: String, _ options: [String] = []) async throws {
    let ended = try await sandbox.coffer(["doctor", store] + options)
    #expect(ended.status == 1 && ended.text.contains("2 names (hard links)"), "\(ended)")
  }

  @Test(
    "Neither name of a database is written, both are read only, and either one alone is the store",
    arguments: ["a.db", "b.db"])
  func database(_ kept: String) async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "a.db")
    try await sandbox.bash("ln a.db b.db")
    for name in ["a.db", "b.db"] {
      for words in [["set", "b", "2"], ["get", "a"], ["ls"], ["verify"], ["info"]] {
        expectRefusal(try await sandbox.coffer(words + ["--store", name]))
      }
      #expect(try await sandbox.coffer("get", "a", "--read-only", "--store", name).text == "1")
      try await expectProblem(name)
    }
    try await sandbox.bash("ls *.db | grep -v \(kept) | xargs rm")
    #expect(try await sandbox.coffer("set", "b", "2", "--store", kept).status == 0)
    #expect(try await sandbox.coffer("ls", "--store", kept).lines == ["a", "b"])
  }

  @Test("A commit under a second name is refused while the first one is open, and those under the first one stay")
  func openDatabase() async throws {
    try await sandbox.coffer("set", "a", "1")
    let watch = try sandbox.startCoffer("watch", "--since", "0")
    try await eventually("the first event") { try watch.output().contains("  a\n") }
    try await sandbox.bash("ln store.db other.db")
    expectRefusal(try await sandbox.coffer("set", "b", "2", "--store", "other.db"))
    // The log is beside the first name.
    expectRefusal(try await sandbox.coffer("get", "a", "--read-only", "--store", "other.db"))
    watch.signal(SIGTERM)
    _ = try await watch.ended()
    try await sandbox.bash("rm other.db")
    #expect(try await sandbox.coffer("ls").lines == ["a"])
  }

  @Test("A store is refused whose log or wake-up file has a second name", arguments: ["-wal", "-wake"])
  func companions(_ suffix: String) async throws {
    try await sandbox.coffer("set", "a", "1")
    try await sandbox.bash("touch store.db\(suffix); ln store.db\(suffix) other")
    expectRefusal(try await sandbox.coffer("get", "a"))
    try await sandbox.bash("rm other")
    #expect(try await sandbox.coffer("get", "a").text == "1")
  }

  @Test("A backup may have several names, as those of tools that link unchanged files have")
  func backup() async throws {
    try await sandbox.coffer("set", "a", "1")
    let line =
      "coffer backup one && ln one two && coffer restore two --store new.db --yes && coffer get a --store new.db"
    let restored = try await sandbox.bash(line)
    #expect(restored.status == 0 && restored.text.hasSuffix("1"), "\(restored)")
    #expect(try await sandbox.coffer("get", "a", "--read-only", "--store", "two").text == "1")
    expectRefusal(try await sandbox.coffer("set", "a", "2", "--store", "two"))
    // The other name would keep the replaced state.
    try await sandbox.bash("ln new.db other.db")
    expectRefusal(try await sandbox.coffer("restore", "one", "--store", "new.db", "--yes"))
  }

  @Test("A copy of a closed store in a tree of links is read and restored, unless it has a log")
  func linkedCopy() async throws {
    try await sandbox.coffer("set", "a", "1")
    try await sandbox.bash("mkdir monday tuesday; cp store.db monday; ln monday/store.db tuesday/store.db")
    #expect(try await sandbox.coffer("get", "a", "--read-only", "--store", "tuesday/store.db").text == "1")
    let restored = try await sandbox.coffer("restore", "tuesday/store.db", "--store", "new.db", "--yes")
    #expect(restored.status == 0, "\(restored)")
    #expect(try await sandbox.coffer("get", "a", "--store", "new.db").text == "1")
    try await sandbox.bash("printf log > tuesday/store.db-wal")
    expectRefusal(try await sandbox.coffer("get", "a", "--read-only", "--store", "tuesday/store.db"))
  }

  @Test("Preferences with two names are read, and not written")
  func preferences() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "prefs:p")
    try await sandbox.bash("ln .config/p.plist .config/q.plist")
    for suite in ["prefs:p", "prefs:q"] {
      #expect(try await sandbox.coffer("get", "a", "--store", suite).text == "1")
      expectRefusal(try await sandbox.coffer("set", "a", "2", "--store", suite))
      try await expectProblem(suite)
    }
    try await sandbox.bash("rm .config/q.plist")
    #expect(try await sandbox.coffer("set", "a", "2", "--store", "prefs:p").status == 0)
  }

  @Test("A sealed file with two names is read, and not written")
  func sealed() async throws {
    let set = "coffer set a - --store sealed:s --passphrase-file words"
    let prepared = try await sandbox.bash("umask 077; printf 'open sesame' > words; printf 1 | \(set) && ln s t")
    try #require(prepared.status == 0, "\(prepared)")
    expectRefusal(try await sandbox.bash("printf 2 | \(set)"))
    let read = try await sandbox.bash("coffer get a --store sealed:s --passphrase-file words")
    #expect(read.text == "1", "\(read)")
    try await expectProblem("sealed:s", ["--passphrase-file", "words"])
  }

  @Test("A value whose file has a name outside the store is read, and not written")
  func files() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "file:f")
    try await sandbox.bash("ln f/a outside")
    #expect(try await sandbox.coffer("get", "a", "--store", "file:f").text == "1")
    expectRefusal(try await sandbox.coffer("set", "a", "2", "--store", "file:f"))
    #expect(try await sandbox.coffer("set", "b", "2", "--store", "file:f").status == 0)
    try await expectProblem("file:f")
    #expect(try await sandbox.coffer("rm", "a", "--store", "file:f").status == 0)
    #expect(try sandbox.read("outside") == Data("1".utf8))
  }

  @Test("The journal of a store of files is refused like a database")
  func journal() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "file:f")
    try await sandbox.bash("ln f/.coffer/journal.db copy.db")
    expectRefusal(try await sandbox.coffer("set", "a", "2", "--store", "file:f"))
    try await expectProblem("file:f")
  }
}
