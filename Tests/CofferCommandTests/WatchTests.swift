import CofferTestSupport
import Foundation
import Testing

@Suite("watch")
struct WatchTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Another process's commits appear as they happen")
  func live() async throws {
    try await sandbox.coffer("set", "before", "1")
    let watch = try sandbox.startCoffer("watch", "live/", "--count", "2")
    var number = 0
    // The begin of the watch is not observable, so values are written until one is printed.
    try await eventually("the first event") {
      number += 1
      try await sandbox.coffer("set", "live/key", "\(number)")
      try await sandbox.coffer("set", "other", "x")
      return try watch.output().contains("live/key")
    }
    try await sandbox.coffer("rm", "live/key")
    let ended = try await watch.ended()
    #expect(ended.status == 0 && ended.errors.isEmpty && ended.lines.count == 2)
    let line = /\d\d:\d\d:\d\d\.\d{3}  (put|deleted) +[0-9a-f]{8}  live\/key/
    #expect(ended.lines.allSatisfy { $0.wholeMatch(of: line) != nil }, "\(ended.text)")
  }

  @Test("--since prints earlier commits, as JSON lines")
  func replay() async throws {
    try await sandbox.coffer("set", "a", "1")
    let transaction = try await sandbox.coffer("set", "b", "1", "--json").json()["transaction"] as? String
    try await sandbox.coffer("rm", "a")
    try await sandbox.coffer("rm", "--prefix", "x/", "--yes")
    let events = try await sandbox.coffer("watch", "--since", "0", "--count", "4", "--json").jsonLines()
    #expect(events.map { $0["event"] as? String } == ["deleted", "put", "deleted", "cleared"])
    #expect(events.map { $0["revision"] as? Int } == [1, 2, 3, 4])
    #expect(events[1]["key"] as? String == "b" && events[1]["transaction"] as? String == transaction)
    #expect(events[3]["prefix"] as? String == "x/" && events[3]["key"] == nil)
    let time = try #require(events[0]["time"] as? String)
    #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time)")
  }

  @Test("A prefix filters keys and removed prefixes")
  func filter() async throws {
    try await sandbox.coffer("set", "a/1", "1")
    try await sandbox.coffer("set", "b/1", "1")
    try await sandbox.coffer("rm", "--prefix", "b", "--yes")
    try await sandbox.coffer("rm", "--prefix", "a/1/2", "--yes")
    try await sandbox.coffer("rm", "--prefix", "a", "--yes")
    let events = try await sandbox.coffer("watch", "a/", "--since", "0", "--count", "3", "--json").jsonLines()
    #expect(events.map { $0["revision"] as? Int } == [1, 4, 5])
  }

  @Test("A key cannot forge a line")
  func escapes() async throws {
    try await sandbox.coffer("set", "a\nb\u{1B}[0m", "1")
    let watch = try await sandbox.coffer("watch", "--since", "0", "--count", "1")
    #expect(watch.lines.count == 1 && watch.text.hasSuffix("  a\\nb\\u{1B}[0m\n"))
  }

  @Test("Commits that the journal no longer holds are one reload")
  func reload() async throws {
    for index in 1...3 { try await sandbox.coffer("set", "k\(index)", "1") }
    try sql("DELETE FROM coffer_journal WHERE revision < 3", on: sandbox.storePath)
    let json = try await sandbox.coffer("watch", "--since", "0", "--count", "1", "--json").json()
    #expect(json["event"] as? String == "reload" && json["revision"] as? Int == 3)
    let text = try await sandbox.coffer("watch", "--since", "0", "--count", "1")
    #expect(text.text.contains("  reload   -"))
    let journal = try await sandbox.coffer("info", "--json").json()["journal"] as? NSDictionary
    #expect(journal == ["first": 3, "last": 3])
  }

  @Test("--since a future revision prints a note and watches from now on")
  func future() async throws {
    try await sandbox.coffer("set", "a", "1")
    let watch = try sandbox.startCoffer("watch", "--since", "500", "--count", "1")
    try await eventually("the event") {
      try await sandbox.coffer("set", "b", "2")
      return try watch.output().contains("  b\n")
    }
    let ended = try await watch.ended()
    #expect(ended.status == 0)
    let note = /The store is at revision \d+; it has no revision 500 yet\.\n/
    #expect(ended.errors.wholeMatch(of: note) != nil, "\(ended.errors)")
  }

  @Test("A signal ends it with status 0", arguments: [SIGINT, SIGTERM])
  func signals(_ signal: Int32) async throws {
    try await sandbox.coffer("set", "a", "1")
    let watch = try sandbox.startCoffer("watch", "--since", "0")
    try await eventually("the first event") { try watch.output().contains("  a\n") }
    watch.signal(signal)
    let ended = try await watch.ended()
    #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended)")
  }

  @Test("It ends when its pipe is closed, without a further event")
  func closedPipe() async throws {
    try await sandbox.coffer("set", "a", "1")
    let watch = try await sandbox.bash("coffer watch --since 0 | head -n 1; echo ${PIPESTATUS[0]}")
    #expect(watch.lines.count == 2 && watch.lines.last == "0" && watch.errors.isEmpty)
  }
}
