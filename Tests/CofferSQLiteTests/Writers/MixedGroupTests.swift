import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferSQLite

/// A group whose transaction fails as a whole, so that its batches are tried one by one.
@Suite("Groups of which some batches do not get the lock", .blocking)
struct MixedGroupTests {
  @Test("What follows a batch that does not get the lock waits as well, and what precedes it is committed")
  func order() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    let file = StoreFile(path: path, busyTimeout: 20)
    let connection = try Connection(file)
    // Used by one thread: the committer asks for the flag on that of its caller.
    nonisolated(unsafe) let other = try Connection(file)
    let asked = Locked(0)
    let flag = SyncFailureFlag {
      let count = asked.withLock { count in
        count += 1
        return count
      }
      // Asked before the whole group, before the first batch alone, and after its commit.
      if count == 3 { try? other.execute("BEGIN IMMEDIATE") }
      return false
    } give: {
    }
    let history = try History(connection)
    let committer = try GroupCommitter(
      connection, epoch: history.epoch, from: history.revision, configuration: SQLiteEngine.Configuration(),
      failure: flag)
    // The large value does not fit, so the transaction of all three fails.
    try connection.execute("PRAGMA max_page_count = 40")
    func batch(_ key: KeyName, _ size: Int) -> PreparedBatch {
      PreparedBatch(WriteBatch([.put(key, Data(count: size))]), origin: StoreOrigin(), at: Date())
    }
    let results = committer.commit([batch("a", 1), batch("b", 1), batch("c", 1 << 20)], durability: .relaxed)
    #expect(try results[0].get() > .zero)
    #expect(results[1].isBusy && results[2].isBusy, "\(results)")
    other.rollBack()
    #expect(try await engine.entry("a") != nil)
    #expect(try await engine.entry("b") == nil)
    try await engine.close()
  }
}
