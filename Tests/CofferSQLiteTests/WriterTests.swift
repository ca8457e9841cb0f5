import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of the writer's queue, with a writer that the test blocks.
@Suite(.blocking, .serialized) struct WriterTests {
  @Test func aCancelledBatchIsTakenOutOfTheQueueAndTheOthersGoOn() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let release = await holdWriter(of: engine)
    let doomed = Task { try await engine.commit(WriteBatch([.put(KeyName("doomed"), Data())]), from: StoreOrigin()) }
    let good = Task { try await engine.commit(WriteBatch([.put(KeyName("good"), Data())]), from: StoreOrigin()) }
    doomed.cancel()
    // It ends while the writer is still blocked: it was removed from the queue.
    await #expect(throws: CancellationError.self) { _ = try await doomed.value }
    try await release()
    _ = try await good.value
    #expect(try await engine.entry(KeyName("good")) != nil)
    #expect(try await engine.entry(KeyName("doomed")) == nil)
    try await engine.close()
  }

  @Test func whatWasAcceptedIsFinishedBeforeClosing() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    let writers = (0..<100).map { index in
      Task { try await engine.commit(WriteBatch([.put(KeyName("k\(index)"), Data())]), from: StoreOrigin()) }
    }
    await Task.yield()
    try await engine.close()
    var accepted: [Int] = []
    for (index, writer) in writers.enumerated() {
      do {
        _ = try await writer.value
        accepted.append(index)
      } catch let error as StorageError {
        #expect(error.code == .closed)
      }
    }
    let again = try await SQLiteEngine.open(at: path)
    let stored = try await again.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
    #expect(Set(stored.map(\.key.string)) == Set(accepted.map { "k\($0)" }))
    try await again.close()
  }

  @Test func batchesThatWaitTogetherShareACommit() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let release = await holdWriter(of: engine)
    let key = KeyName("contested")
    // One of them fails in a way that only the transaction can detect.
    let results = Task {
      await withTaskGroup(of: StorageError.Code?.self) { group in
        for index in 0..<50 {
          group.addTask {
            var batch = WriteBatch([.put(try! KeyName("k\(index)"), Data())])
            if index == 25 { batch.require(key, at: StoreRevision(999)) }
            do {
              _ = try await engine.commit(batch, from: StoreOrigin())
              return nil
            } catch { return (error as? StorageError)?.code ?? .inputOutput }
          }
        }
        return await group.reduce(into: [StorageError.Code]()) { codes, code in if let code { codes.append(code) } }
      }
    }
    try await release()
    #expect(await results.value == [.preconditionFailed])
    let stored = try await engine.withSnapshot { try await $0.page(prefix: KeyName("k"), after: nil, limit: 1_000) }
    #expect(stored.count == 49)
    #expect(!stored.contains { $0.key.string == "k25" })
    try await engine.close()
  }
}

/// Runs a blocking closure on a new thread, since tasks must not block theirs.
func blocking(_ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      body()
      continuation.resume()
    }
  }
}

/// Keeps the writer's thread in a transaction until the returned closure is called.
private func holdWriter(of engine: SQLiteEngine) async -> () async throws -> Void {
  let isHeld = DispatchSemaphore(value: 0)
  let mayGo = DispatchSemaphore(value: 0)
  let holder = Task {
    try await SQLiteDatabase(engine: engine).write { _ in
      isHeld.signal()
      mayGo.wait()
    }
  }
  await blocking { isHeld.wait() }
  return {
    mayGo.signal()
    try await holder.value
  }
}
