import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite("cp", .serialized)
struct CopyTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  // Requirement 1.70
  @Test("5,000 values are copied under one transaction id, and a second copy writes nothing")
  func everything() async throws {
    try await sandbox.fill(count: 5_000)
    let copy = try await sandbox.coffer("cp", "store.db", "copy.db")
    #expect(copy.status == 0 && copy.output.isEmpty)
    #expect(copy.errors.wholeMatch(of: /Copied 5,000 values \(488\.3 KiB\) in \d+\.\d s\.\n/) != nil, "\(copy.errors)")
    let original = try await sandbox.contents("store.db")
    #expect(try await sandbox.contents("copy.db") == original && original.count == 5_000)
    let events = try await sandbox.coffer(
      "watch", "--since", "0", "--count", "5000", "--json", "--store", "copy.db"
    ).jsonLines()
    #expect(Set(events.compactMap { $0["transaction"] as? String }).count == 1)
    #expect(Set(events.compactMap { $0["revision"] as? Int }).count > 5)  // in several commits
    let again = try await sandbox.coffer("cp", "store.db", "copy.db")
    #expect(again.status == 0)
    #expect(again.errors.wholeMatch(of: /Copied 0 values \(0 B\) in .* s, 5,000 unchanged\.\n/) != nil)
  }

  @Test(
    "A copy that has ended is synced, with what it found unchanged",
    .enabled(if: RecordingLibrary.path != nil, "no C compiler"))
  func durable() async throws {
    let library = try #require(RecordingLibrary.path)
    try await sandbox.bash("mkdir d")
    for store in ["store.db", "d/to.db"] { try await sandbox.coffer("set", "a", "1", "--store", store) }
    // It keeps the log, so that no command copies and syncs it when it ends.
    let other = try sandbox.startCoffer("watch", "--since", "0", "--store", "d/to.db")
    try await eventually("the watch") { try !other.output().isEmpty }
    for key in ["b", "c"] {
      // As a copy leaves it that is killed after its commit.
      if key == "b" { try await sandbox.coffer("set", key, "1", "--relaxed", "--store", "d/to.db") }
      try await sandbox.coffer("set", key, "1", "--store", "store.db")
      let start = try DeviceState(of: sandbox.path("d"))
      let log = sandbox.path("log-\(key)")
      let copy = try await sandbox.bash("LD_PRELOAD=\(library) COFFER_RECORD=\(log) exec coffer cp store.db d/to.db")
      #expect(copy.status == 0, "\(copy.errors)")
      let recording = try DeviceRecording(log, from: start)
      let file = try #require(start.tree["to.db-wal"])
      let last = recording.operations.last { $0.file == file && ($0.isSync || $0.kind == .write) }
      #expect(last?.isSync == true, "\(key): \(copy.errors)")
    }
    other.signal(SIGTERM)
    _ = try await other.ended()
  }

  // Requirement 1.70
  @Test("Keys of TO are overwritten, others remain; unusual keys and all bytes are copied")
  func merging() async throws {
    let every = Data((0...255).map { UInt8($0) })
    let strange = ["new\nline", "🦊", "é", "e\u{301}", "../x", "-", "\u{1B}[31m"]
    let values = try strange.map { (try KeyName($0), every) } + [(KeyName("same"), Data("1".utf8))]
    try await sandbox.fill(values: values)
    try await sandbox.fill(
      "to.db",
      values: [
        (KeyName("same"), Data("1".utf8)), (KeyName("é"), Data("old".utf8)),
        (KeyName("mine"), Data("stays".utf8)),
      ])
    let json = try await sandbox.coffer("cp", "sqlite:store.db", "sqlite:to.db", "--json").json()
    #expect(json["copied"] as? Int == 7 && json["copiedBytes"] as? Int == 7 * 256 && json["unchanged"] as? Int == 1)
    #expect(json["from"] as? String == "sqlite:\(sandbox.storePath)" && json["interrupted"] as? Bool == false)
    #expect(UUID(uuidString: json["transaction"] as? String ?? "") != nil)
    var expected = try await sandbox.contents("store.db")
    expected[KeyName("mine")] = Data("stays".utf8)
    #expect(try await sandbox.contents("to.db") == expected)
  }

  @Test("--prefix copies only the keys that start with it")
  func prefix() async throws {
    for key in ["a/1", "a/2", "b"] { try await sandbox.coffer("set", key, "v", "--relaxed") }
    #expect(try await sandbox.coffer("cp", "--prefix", "a/", "store.db", "to.db").status == 0)
    #expect(try await sandbox.coffer("ls", "--store", "to.db").lines == ["a/1", "a/2"])
  }

  @Test("FROM must exist; otherwise TO is not created")
  func missing() async throws {
    let ended = try await sandbox.coffer("cp", "none.db", "to.db")
    #expect(ended.status == 3 && ended.output.isEmpty)
    #expect(ended.errors.hasPrefix("coffer: There is no store at this path. Store: sqlite:"))
    #expect(ended.errors.hasSuffix("none.db. Check the path of FROM; nothing was copied.\n"))
    #expect(try await sandbox.coffer("cp", "none.db", "to.db", "--json").errorJSON()["code"] as? String == "notFound")
    #expect(!sandbox.exists("to.db") && !sandbox.exists("none.db"))
  }

  @Test(
    "FROM and TO must differ, however they are written",
    arguments: ["store.db", "sqlite:store.db", "./store.db", "linked/store.db", "link.db"])
  func sameStore(_ to: String) async throws {
    try await sandbox.coffer("set", "a", "1")
    try await sandbox.bash("ln -s . linked; ln -s store.db link.db")
    let ended = try await sandbox.coffer("cp", "store.db", to)
    #expect(ended.status == 2)
    #expect(
      ended.errors == "coffer: FROM and TO are the same store, sqlite:\(sandbox.storePath). Try 'coffer help cp'.\n")
    #expect(try await sandbox.coffer("info", "--json").json()["revision"] as? Int == 1)
  }

  @Test("A damaged value is reported and skipped; one that is damaged in TO is written again")
  func damagedValues() async throws {
    for key in ["a", "b\n", "c"] { try await sandbox.coffer("set", key, "value", "--relaxed") }
    try await sandbox.bash("cp store.db to.db && coffer set c other --store to.db")
    try damage("b\n", in: sandbox)
    try sql("UPDATE coffer_values SET value = x'00ff' WHERE key = x'61'", on: sandbox.path("to.db"))
    try sql("DELETE FROM coffer_values WHERE key = x'620a'", on: sandbox.path("to.db"))
    let copy = try await sandbox.coffer("cp", "store.db", "to.db")
    #expect(copy.status == 1 && copy.output.isEmpty)
    let lines = copy.errors.split(separator: "\n")
    #expect(
      lines.first == "coffer: 'b\\n' was not copied: The stored value is damaged: its checksum does not match.")
    #expect(lines.last?.wholeMatch(of: /Copied 2 values \(10 B\) in .* s, 1 skipped\./) != nil && lines.count == 2)
    let there = try await sandbox.contents("to.db")
    #expect(there == [KeyName("a"): Data("value".utf8), KeyName("c"): Data("value".utf8)])
    let json = try await sandbox.coffer("cp", "store.db", "to.db", "--json")
    #expect(json.status == 1 && json.errors.isEmpty)
    let skipped = try #require(json.json()["skipped"] as? [NSDictionary])
    #expect(skipped.count == 1 && skipped[0]["key"] as? String == "b\n" && skipped[0]["code"] as? String == "damaged")
  }

  @Test("If FROM becomes unreadable, the values before are copied")
  func tornStore() async throws {
    try await sandbox.fill(count: 2_000)
    try destroyPage(holding: "k01500", in: sandbox.storePath)
    let copy = try await sandbox.coffer("cp", "store.db", "to.db")
    #expect(copy.status == 1 && copy.errors.contains("pages are inconsistent"))
    #expect(copy.errors.contains(" values had been copied. Run the same command again to copy the rest.\n"))
    let count = try await sandbox.contents("to.db").count
    #expect(count > 1_450)
    let through = "k" + String(repeating: "0", count: 5 - "\(count)".count) + "\(count)"
    #expect(copy.errors.contains("TO has all values up to '"), "\(copy.errors)")
    let json = try await sandbox.coffer("cp", "store.db", "other.db", "--json")
    #expect(json.status == 1)
    #expect(try json.errorJSON()["code"] is String)
    let report = try json.json()
    #expect(report["copied"] as? Int == count && report["failed"] as? Bool == true)
    let last = try #require(report["through"] as? String)
    #expect(abs(last.compare(through).rawValue) <= 1 && copy.errors.contains("'\(last)'"))
  }

  @Test("memory: can be on either side")
  func memory() async throws {
    try await sandbox.coffer("set", "a", "1")
    #expect(try await sandbox.coffer("cp", "store.db", "memory:", "--json").json()["copied"] as? Int == 1)
    #expect(try await sandbox.coffer("cp", "memory:", "to.db", "--json").json()["copied"] as? Int == 0)
    #expect(try await sandbox.coffer("cp", "memory:", "memory:").status == 2)
  }

  @Test("A signal ends the copy in a defined state, and a second run copies the rest", arguments: ["INT", "TERM"])
  func interrupted(_ signal: String) async throws {
    try await sandbox.fill(count: 1_000)
    try sql(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO coffer_values (key, revision, checksum, value)
      SELECT CAST(printf('k00600%03d', i) || hex(zeroblob(450)) AS BLOB), 1, 0, x'00' FROM n
      """, on: sandbox.storePath)
    // After 500 copied values it reports the damaged ones, and blocks because the pipe cannot hold all of them.
    let ended = try await sandbox.bash(
      """
      mkfifo errors; coffer cp store.db to.db 2> errors & exec 3< errors
      read -r -u 3 && kill -\(signal) $! && tail -n 1 <&3; wait $!; echo $?
      """)
    let told = /Copied 500 values \(48\.8 KiB\) in .* s, \d+ skipped, then interrupted\. Run the same .* the rest\./
    #expect(ended.lines.first?.wholeMatch(of: told) != nil && ended.lines.last == "130", "\(ended.text)")
    #expect(try await sandbox.contents("to.db").count == 500)
    let again = try await sandbox.coffer("cp", "store.db", "to.db", "--json")
    #expect(again.status == 1)
    #expect(try again.json()["copied"] as? Int == 500 && again.json()["unchanged"] as? Int == 500)
    #expect(try await sandbox.contents("to.db").count == 1_000)
  }
}
