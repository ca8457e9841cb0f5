import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferSQLite

/// Tests of the wake-up file, which several processes map, so that it must never be truncated.
@Suite(.blocking, .timeLimit(.minutes(15))) struct WakeFileTests {
  @Test("Concurrent creation of the file neither fails nor loses a revision")
  func madeAtOnce() throws {
    let directory = try TemporaryDirectory()
    for round in 1...(isProving ? 20_000 : 1_000) {
      let file = StoreFile(path: directory.path("\(round).db"), busyTimeout: 0)
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        guard let wake = try? WakeFile(file) else { return }
        wake.raise(to: StoreRevision(UInt64(number + 1)))
        _ = wake.revision
      }
      let words = try #require(WakeWords(ofFileAt: file.wakePath))
      #expect(words.announced == StoreRevision(4), "round \(round)")
      unlink(file.wakePath)
    }
  }

  @Test("A file with a damaged magic keeps its words and its failure sign; one of the first format is reset")
  func damagedMagic() throws {
    let directory = try TemporaryDirectory()
    let file = StoreFile(path: directory.path("store.db"), busyTimeout: 0)
    let first = try WakeFile(file)
    first.raise(to: StoreRevision(7))
    let descriptor = open(file.wakePath, O_WRONLY)
    defer { close(descriptor) }
    #expect(pwrite(descriptor, "X", 1, 0) == 1)
    first.fail()
    let second = try WakeFile(file)
    #expect(second.revision == StoreRevision(7) && second.hasFailed)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file.wakePath)).prefix(8) == Data("COFWAKE2".utf8))
    // The first instance still maps the file.
    first.raise(to: StoreRevision(8))
    #expect(second.revision == StoreRevision(8))
    #expect(pwrite(descriptor, "COFWAKE1", 8, 0) == 8)
    #expect(try WakeFile(file).revision == .zero)
  }

  /// An access to the mapping of a truncated file would end the process with SIGBUS.
  @Test("A file that was truncated can be let go of")
  func truncatedBeforeClosing() throws {
    let directory = try TemporaryDirectory()
    let wake = try WakeFile(StoreFile(path: directory.path("store.db"), busyTimeout: 0))
    wake.raise(to: StoreRevision(7))
    #expect(truncate(directory.path("store.db-wake"), 0) == 0)
    wake.close()
    #expect(wake.revision == StoreRevision(7))
  }

  /// The same.
  @Test("A closed store does not touch its file, which may be truncated")
  func truncatedAfterClosing() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    var engine: SQLiteEngine? = try await SQLiteEngine.open(at: path)
    let commit = try await engine?.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    try await engine?.close()
    let wake = StoreFile(path: path, busyTimeout: 0).wakePath
    let closed = try #require(WakeWords(ofFileAt: wake))
    #expect(closed.announced == commit?.revision)
    #expect(truncate(wake, 0) == 0)
    #expect(engine?.latestRevision == commit?.revision)
    engine = nil
    #expect(try Data(contentsOf: URL(fileURLWithPath: wake)).isEmpty)
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.entry("a")?.value == Data("1".utf8))
    try await again.close()
  }
}

/// The time at which the database was changed last, as the wake-up file has it.
@Suite(.serialized) struct ClosingTimeTests {
  /// Only if it was closed before the time was looked up is another time proof of a change.
  @Test(arguments: [true, false]) func aStoreClosedMeanwhileContinuesItsHistory(isMeanwhile: Bool) async throws {
    let directory = try await closedStore(values: 5)
    let file = StoreFile(path: directory.path("store.db"), busyTimeout: 1_000)
    let words = try #require(WakeWords(ofFileAt: file.wakePath))
    let inode = try #require(FileIdentity(file.path)).inode
    try #require(words.closedAt != nil && words.changedAt == file.changedAt)
    var closing = words
    if isMeanwhile { closing.closedAt = nil }
    let connection = try Connection(file)
    let before = try History(connection)
    let wake = try WakeFile(file)
    let history = try History.agree(
      before, connection, wake, file: inode, changedAt: words.changedAt - 1, closing: closing, now: 0)
    #expect((history.epoch == before.epoch) == isMeanwhile)
  }
}
