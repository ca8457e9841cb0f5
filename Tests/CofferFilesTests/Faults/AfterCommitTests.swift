import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Changes by other handles and programs between the commit of a batch and its end.
@Suite(.blocking, .serialized) struct AfterCommitTests {
  private let origin = StoreOrigin()

  private func put(_ engine: SlotEngine, _ key: String, _ value: Data) async throws {
    try await engine.commit(WriteBatch([.put(KeyName(key), value)]), from: origin)
  }

  /// Closing a handle waits for its commits, and no other handle takes their staged values for orphans meanwhile.
  @Test func closingWaitsForTheCommitsOfItsHandle() async throws {
    let directory = try StoreDirectory()
    let isStaged = DispatchSemaphore(value: 0)
    let goOn = DispatchSemaphore(value: 0)
    let closing = try await directory.open { configuration in
      configuration.atStep = { step in
        guard step == .staged else { return }
        isStaged.signal()
        _ = goOn.wait(timeout: .now() + .seconds(60))
      }
    }
    let other = try await directory.open()
    // A batch of two operations, whose values are staged outside the writer that all handles share.
    let batch = try WriteBatch([.put(KeyName("x"), Data("1".utf8)), .delete(KeyName("y"))])
    let saving = Task { try await closing.commit(batch, from: origin) }
    await Task.detached { isStaged.waitBlocking() }.value
    let closed = Task { try await closing.close() }
    let late = try await directory.open()  // removes orphaned staged values
    #expect(try directory.names(in: "staged").count == 1)
    goOn.signal()
    _ = try await saving.value
    try await closed.value
    #expect(try await other.entry(KeyName("x"))?.value == Data("1".utf8))
    await expectError(.closed) { try await put(closing, "y", Data()) }
    for engine in [other, late] { try await engine.close() }
  }

  /// A commit whose staged value disappears before it is published is not acknowledged.
  @Test func aValueThatVanishesBeforeItIsPublishedIsNotAcknowledged() async throws {
    let directory = try await StoreDirectory.filled()
    let isArmed = Locked(true)
    let engine = try await directory.open { configuration in
      configuration.atStep = { step in
        guard step == .committed, isArmed.withLock({ $0 }) else { return }
        for name in (try? directory.names(in: "staged")) ?? [] { unlink(directory.control("staged/\(name)")) }
      }
    }
    await expectError(.unfinished, contains: "is gone") { try await put(engine, "theme", Data("new".utf8)) }
    isArmed.withLock { $0 = false }
    #expect(try await engine.entry(KeyName("theme"))?.value == Data("old theme".utf8))
    try await put(engine, "theme", Data("newer".utf8))
    #expect(try await engine.entry(KeyName("theme"))?.value == Data("newer".utf8))
    try await engine.close()
  }

  /// A removal that is repeated after a kill keeps a file that another program has created meanwhile.
  @Test func aFileThatIsMadeAfterItsRemovalSurvivesTheRecovery() async throws {
    let directory = try await StoreDirectory.filled()
    let helper = try directory.run("files-delete-dying", "theme")
    _ = try helper.lines()
    helper.wait()
    #expect(try directory.contents()["theme"] == nil)
    try overwrite(directory.file("theme"), "made again")
    let engine = try await directory.open()
    #expect(try await engine.entry(KeyName("theme"))?.value == Data("made again".utf8))
    #expect(try directory.contents()["theme"] == Data("made again".utf8))
    try await engine.close()
  }
}

extension DispatchSemaphore {
  /// Waits up to 60 s. Only for threads that may block.
  fileprivate func waitBlocking() { _ = wait(timeout: .now() + .seconds(60)) }
}
