import Coffer
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct CacheTests {
  let memory = MemoryEngine()

  // Requirements 1.31, 1.32
  @Test func aHitNeitherReadsNorDecodes() async throws {
    let probe = ProbeEngine(memory)
    let store = TypedStore(engine: probe)
    #expect(store.cached(Note.self, for: "a") == nil)
    try await TypedStore(engine: memory).save(Note(title: "1"), for: "a")
    #expect(store.cached(Note.self, for: "a") == nil)
    #expect(try await store.load(Note.self, for: "a") == Note(title: "1"))
    #expect(probe.reads == 1)
    for _ in 0..<10 {
      #expect(store.cached(Note.self, for: "a") == Note(title: "1"))
      #expect(try await store.load(Note.self, for: "a") == Note(title: "1"))
      #expect(try await store.exists("a"))
    }
    #expect(probe.reads == 1)
    try await store.save(Note(title: "2"), for: "a")
    #expect(store.cached(Note.self, for: "a") == Note(title: "2"))
    #expect(probe.reads == 1)
  }

  @Test func aListReadsOnlyWhatIsNotCached() async throws {
    let probe = ProbeEngine(memory)
    let store = TypedStore(engine: probe)
    let keys: [KeyName] = ["a", "b", "c"]
    try await store.saveAll([(keys[0], 1), (keys[1], 2)])
    #expect(try await store.loadAll(Int.self, keys: [keys[1], keys[0], keys[1]]) == [2, 1, 2])
    #expect(probe.reads == 0)
    #expect(try await store.loadAll(Int.self, keys: keys) == [1, 2, nil])
    #expect(probe.reads == 1)
    try await TypedStore(engine: memory).save(3, for: keys[2])
    try await TypedStore(engine: memory).delete(keys[0])
    #expect(try await store.loadAll(Int.self, keys: keys) == [nil, 2, 3])
    #expect(store.cached(Int.self, for: keys[2]) == 3)
    try await store.save("text", for: keys[1])
    #expect(await codeThrown { _ = try await store.loadAll(Int.self, keys: keys) } == .decodingFailed)
  }

  /// Two keys are always written together. Another task caches one of them at a time.
  @Test func aListIsOfOneStateAlthoughAPartOfItIsCached() async throws {
    let (store, writer) = (TypedStore(engine: memory), TypedStore(engine: memory))
    let keys: [KeyName] = ["a", "b"]
    try await writer.saveAll(keys.map { ($0, 0) })
    let writing = Task {
      for number in 1...2_000 {
        try await writer.saveAll(keys.map { ($0, number) })
        if number.isMultiple(of: 8) { await Task.yield() }
      }
    }
    var last = 0
    while last < 2_000 {
      let known = try await store.load(Int.self, for: keys[0])
      let values = try await store.loadAll(Int.self, keys: keys)
      #expect(values[0] == values[1], "The list is of two states.")
      last = try #require(values[0])
      #expect(last >= known ?? 0)
      await Task.yield()
    }
    try await writing.value
  }

  // Requirement 1.34
  @Test func whatOthersTouchIsDroppedAndTheRestStays() async throws {
    let probe = ProbeEngine(memory)
    let store = TypedStore(engine: probe)
    let other = TypedStore(engine: memory)
    for key in ["a", "b", "p/1", "p/2"] { try await store.save(1, for: key) }
    try await other.save(2, for: "a")
    #expect(store.cached(Int.self, for: "a") == nil)
    #expect(store.cached(Int.self, for: "b") == 1)
    #expect(try await store.load(Int.self, for: "a") == 2)
    try await other.delete("b")
    #expect(store.cached(Int.self, for: "b") == nil)
    try await memory.commit(WriteBatch([.clear(prefix: KeyName("p/"))]), from: StoreOrigin())
    #expect(store.cached(Int.self, for: "p/1") == nil)
    #expect(store.cached(Int.self, for: "a") == 2)
    try await memory.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
    #expect(store.cached(Int.self, for: "a") == nil)
    #expect(try await store.load(Int.self, for: "a") == nil)
  }

  @Test func anEngineThatCannotTellWhatChangedEmptiesTheCache() async throws {
    let store = TypedStore(engine: ProbeEngine(memory, forgetsCommits: true))
    try await store.save(1, for: "a")
    #expect(store.cached(Int.self, for: "a") == 1)
    try await TypedStore(engine: memory).save(1, for: "b")
    #expect(store.cached(Int.self, for: "a") == nil)
    try await store.save(2, for: "a")
    #expect(store.cached(Int.self, for: "a") == 2)
  }

  @Test func withoutRevisionsNothingIsCached() async throws {
    let probe = ProbeEngine(memory, without: .revisions)
    let store = TypedStore(engine: probe)
    try await store.save(1, for: "a")
    #expect(store.cached(Int.self, for: "a") == nil)
    for _ in 0..<3 { #expect(try await store.load(Int.self, for: "a") == 1) }
    #expect(probe.reads == 3)
  }

  @Test func aValueChangedWhileItWasReadIsNotCached() async throws {
    let probe = ProbeEngine(memory)
    let store = TypedStore(engine: probe)
    let other = TypedStore(engine: memory)
    try await other.save(1, for: "a")
    try await other.save(1, for: "b")
    probe.afterRead { try? await other.save(2, for: "a") }
    #expect(try await store.load(Int.self, for: "a") == 1)  // the state when the read began
    #expect(store.cached(Int.self, for: "a") == nil)
    #expect(try await store.load(Int.self, for: "b") == 1)  // another key was written meanwhile
    #expect(store.cached(Int.self, for: "b") == 1)
    probe.afterRead(nil)
    #expect(try await store.load(Int.self, for: "a") == 2)
  }

  @Test func aCommitWithoutChangesDoesNotMoveTheCachePastThoseOfOthers() async throws {
    let store = TypedStore(engine: memory)
    try await store.save(1, for: "a")
    try await TypedStore(engine: memory).save(2, for: "a")
    try await store.saveAll([(KeyName, Int)]())
    #expect(store.cached(Int.self, for: "a") == nil)
  }

  @Test func oneKeyMayChangeItsType() async throws {
    let store = TypedStore(engine: memory)
    try await store.save(7, for: "a")
    #expect(store.cached(String.self, for: "a") == nil)
    #expect(store.cached(Int?.self, for: "a") == nil)
    #expect(try await store.load(String.self, for: "a") == "7")
    #expect(try await store.load(Int.self, for: "a") == 7)
    #expect(try await store.load(Double.self, for: "a") == 7)
    try await store.save("text", for: "a")
    #expect(await codeThrown { _ = try await store.load(Int.self, for: "a") } == .decodingFailed)
    #expect(store.cached(String.self, for: "a") == "text")
  }

  @Test func equalLookingKeysAreTwo() async throws {
    let store = TypedStore(engine: memory)
    try await store.save(1, for: "\u{E9}")
    try await store.save(2, for: "e\u{301}")
    #expect(store.cached(Int.self, for: "\u{E9}") == 1)
    #expect(store.cached(Int.self, for: "e\u{301}") == 2)
  }

  // Requirement 1.35
  @Test func theCacheIsBoundedAndKeepsWhatIsUsed() async throws {
    let store = TypedStore(engine: memory, cache: CachePolicy(maximumCount: 10))
    try await store.save(-1, for: "hot")
    for index in 0..<100 {
      try await store.save(index, for: "key\(index)")
      #expect(store.cached(Int.self, for: "hot") == -1)
      #expect(store.cached(Int.self, for: "key\(index)") == index)
    }
    let held = (0..<100).filter { store.cached(Int.self, for: "key\($0)") != nil }
    #expect(held.count <= 10)
    #expect(held.contains(99))
    for capacity in [0, 1] {
      let tiny = TypedStore(engine: memory, cache: CachePolicy(maximumCount: capacity))
      try await tiny.save(1, for: "a")
      try await tiny.save(2, for: "b")
      try await tiny.save(3, for: "c")
      #expect(try await tiny.loadAll(Int.self, keys: [KeyName("a"), KeyName("b"), KeyName("c")]) == [1, 2, 3])
    }
    store.dropCache()
    #expect(store.cached(Int.self, for: "hot") == nil)
    #expect(try await store.load(Int.self, for: "hot") == -1)
  }

  /// Each key has one writer, which saves increasing numbers through one of two stores and publishes each when the save
  /// has returned. No read that begins later, through either store, may return a smaller number.
  // Requirement 1.32
  @Test(arguments: [4, 1_024]) func aCachedReadIsNeverOlderThanAFinishedSave(capacity: Int) async throws {
    let engine = MemoryEngine(journalCapacity: 64)
    let stores = [
      TypedStore(engine: engine, cache: CachePolicy(maximumCount: capacity)),
      TypedStore(engine: engine, cache: CachePolicy(maximumCount: capacity)),
    ]
    let keys = try (0..<4).map { try KeyName("key\($0)") }
    let published = keys.map { _ in Published() }
    let rounds = 2_000
    try await withThrowingTaskGroup { group in
      for (index, key) in keys.enumerated() {
        group.addTask {
          for round in 1...rounds {
            let store = stores[(index + round / 50) % 2]
            if round % 7 == 0 {
              let value = try await store.update(key, default: 0) { $0 = round }
              #expect(value == round)
            } else if round % 11 == 0 {
              try await store.saveAll([(key, round)], durability: .relaxed)
            } else {
              try await store.save(round, for: key, durability: .relaxed)
            }
            published[index].value.store(round, ordering: .sequentiallyConsistent)
            // This key has no other writer, so both stores must return this number or nothing.
            for store in stores { #expect([nil, round].contains(store.cached(Int.self, for: key))) }
            if round % 16 == 0 { await Task.yield() }
          }
        }
      }
      for reader in 0..<4 {
        group.addTask {
          let store = stores[reader % 2]
          var last = keys.map { _ in 0 }
          while published.contains(where: { $0.value.load(ordering: .sequentiallyConsistent) < rounds }) {
            for (index, key) in keys.enumerated() {
              let floor = max(last[index], published[index].value.load(ordering: .sequentiallyConsistent))
              let found: Int
              if let hit = store.cached(Int.self, for: key) {
                found = hit
              } else {
                found = try await store.load(Int.self, for: key) ?? 0
              }
              guard found >= floor else {
                Issue.record("\(key) went back to \(found) from \(floor)")
                return
              }
              last[index] = found
            }
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }
    for store in stores {
      for key in keys { #expect(try await store.load(Int.self, for: key) == rounds) }
    }
  }
}

/// The newest number whose save has returned.
final class Published: Sendable { let value = Atomic<Int>(0) }
