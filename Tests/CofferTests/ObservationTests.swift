import Coffer
import CofferCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ObservationTests {
  let engine = MemoryEngine()

  @Test func changesSayWhoWroteAndUnderWhichTransaction() async throws {
    let store = TypedStore(engine: engine)
    let other = TypedStore(engine: engine)
    let (mine, theirs) = (TransactionID(), TransactionID())
    var changes = store.changes(of: KeyName("a")).makeAsyncIterator()
    try await store.save(1, for: "a", transaction: mine)
    try await store.save(1, for: "b")
    try await other.save(2, for: "a", transaction: theirs)
    try await other.delete("a")
    #expect(await changes.next() == .changed(revision: StoreRevision(1), transaction: mine, isOwn: true))
    #expect(await changes.next() == .changed(revision: StoreRevision(3), transaction: theirs, isOwn: false))
    #expect(await changes.next()?.revision == StoreRevision(4))
    try await engine.close()
    #expect(await changes.next() == nil)
  }

  @Test func aSlowSubscriberIsToldToReload() async throws {
    let engine = MemoryEngine(journalCapacity: 8)
    let store = TypedStore(engine: engine)
    var changes = store.changes(of: KeyName("a")).makeAsyncIterator()
    for number in 1...50 { try await store.save(number, for: "a") }
    #expect(await changes.next() == .reload(upTo: StoreRevision(50)))
    try await store.save(51, for: "a")
    #expect(await changes.next()?.revision == StoreRevision(51))
  }

  @Test func valuesBeginWithThePresentOneAndEndWithTheLast() async throws {
    let store = TypedStore(engine: engine)
    let other = TypedStore(engine: engine)
    var values = store.values(of: KeyName("a"), as: Int.self).makeAsyncIterator()
    #expect(try await values.next()?.get() == .some(nil))
    try await store.save(1, for: "a")
    #expect(try await values.next()?.get() == 1)
    for number in 2...9 { try await other.save(number, for: "a") }
    #expect(try await values.next()?.get() == 9)  // intermediate values are skipped
    try await other.delete("a")
    #expect(try await values.next()?.get() == .some(nil))
    try await engine.close()
    #expect(await values.next().map { _ in } == nil)
  }

  @Test func everySubscriberSeesTheLastState() async throws {
    let store = TypedStore(engine: engine)
    let key = KeyName("a")
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          var last = -1
          for await value in store.values(of: key, as: Int.self) {
            let value = try value.get()
            #expect((value ?? 0) >= last)
            last = value ?? 0
            if last == 500 { return }
          }
        }
      }
      group.addTask {
        for number in 1...500 { try await store.save(number, for: key) }
      }
      try await group.waitForAll()
    }
  }

  @Test func cancellationEndsAStream() async throws {
    let store = TypedStore(engine: engine)
    let key = KeyName("a")
    let task = Task {
      for await _ in store.changes(of: key) {}
      for await _ in store.values(of: key, as: Int.self) {}
    }
    task.cancel()
    _ = await task.result
  }

  @Test func valuesWorkOverAnAdapterToo() async throws {
    let store = TypedStore(engine: AdapterEngine(ThirdPartyAdapter()))
    var values = store.values(of: KeyName("a"), as: Int.self).makeAsyncIterator()
    #expect(try await values.next()?.get() == .some(nil))
    try await store.save(1, for: "a")
    #expect(try await values.next()?.get() == 1)
  }
}
