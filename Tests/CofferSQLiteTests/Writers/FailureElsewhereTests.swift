import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests that after a failed sync in one process no other process relies on commits that may be lost.
@Suite(
  .blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"))
struct FailureElsewhereTests {
  @Test func everyProcessClosesAfterAFailedSyncOfOne() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(WriteBatch([.put(KeyName("before"), Data("1".utf8))]), from: StoreOrigin())
    let stream = engine.changes(since: nil)
    let ended = Task { for await _ in stream {} }
    let follower = try HelperProcess(["follow", path])
    let inline = try HelperProcess(["follow", path])
    let failing = try HelperProcess(["fail-sync", path], environment: [("LD_PRELOAD", FaultLibrary.path ?? "")])
    for helper in [follower, inline, failing] { #expect(try helper.line() == "ready") }
    inline.tell("relaxed")
    #expect(try inline.line() == "relaxed ok")
    failing.tell("fail")
    #expect(try failing.line() == "commit outcomeUnknown")
    // Each process checks the failure sign before its next commit.
    follower.tell("commit")
    #expect(try follower.line() == "commit closed")
    inline.tell("relaxed")
    #expect(try inline.line() == "relaxed closed")
    follower.tell("read")
    #expect(try follower.line() == "read closed")
    // A process that only subscribes detects it, too.
    try await finish(ended, within: .seconds(30))
    await #expect(throws: StorageError.self) { try await engine.entry(KeyName("before")) }
    // The next open checks the store, after which every process can use it again.
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.entry(KeyName("before")) != nil)
    try await again.commit(WriteBatch([.put(KeyName("after"), Data("2".utf8))]), from: StoreOrigin())
    follower.tell("reopen")
    #expect(try follower.line() == "reopen ok")
    follower.tell("commit")
    #expect(try follower.line() == "commit ok")
    try await again.close()
    try await engine.close()
  }
}
