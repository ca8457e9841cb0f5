#if os(Linux) || os(macOS)
  import CofferCSQLite
  import CofferCore
  import CofferCrypto
  import CofferEncryption
  import CofferLocks
  import CofferSQLite
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Concurrent commits to a store that covers its values.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct CoveredCommitTests {
    private let directory: TemporaryDirectory
    private let anchor = MemoryAnchor()

    init() throws { directory = try TemporaryDirectory() }

    private func base(_ kind: BaseStore) async throws -> any StorageEngine { try await kind.open(in: directory.url) }

    private func open(_ kind: BaseStore) async throws -> EncryptedEngine {
      try await base(kind).anchored(anchor, coversValues: true)
    }

    /// Executes SQL as a program would that knows the checksums of pages.
    private func execute(_ sql: String) throws {
      let files = try FileManager.default.subpathsOfDirectory(atPath: directory.url.path)
      let databases = files.filter {
        FileManager.default.contents(atPath: directory.path($0))?.starts(with: Data("SQLite format 3".utf8)) == true
      }
      let path = directory.path(try #require(databases.count == 1 ? databases.first : nil))
      var handle: OpaquePointer?
      #expect(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, PageVFS.registeredName) == SQLITE_OK)
      defer { sqlite3_close(handle) }
      #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
    }

    /// Waits until a condition holds.
    private func until(_ what: String, _ condition: () async -> Bool) async throws {
      let deadline = ContinuousClock.now + .seconds(60)
      while await !condition() {
        try #require(ContinuousClock.now < deadline, "waited too long until \(what)")
        await Task.yield()
      }
    }

    @Test("Commits inside all snapshots that there can be, and a clearing outside of them, all end")
    func snapshotsAreLimited() async throws {
      let base = try #require(try await self.base(.sqlite) as? SQLiteEngine)
      let engine = try await base.anchored(anchor, coversValues: true)
      try await engine.put("p/1", "one")
      let (holding, isReleased, ended) = (Locked(0), Locked(false), Locked(0))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<64 {
          group.addTask {
            try await engine.withSnapshot { _ in
              holding.withLock { $0 += 1 }
              while !isReleased.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
              try await engine.put(.known("k/\(number)"), "value")
            }
            ended.withLock { $0 += 1 }
          }
        }
        group.addTask {
          while holding.withLock({ $0 }) < 64 { try await Task.sleep(for: .milliseconds(1)) }
          try await engine.commit(WriteBatch([.clear(prefix: "p/")]), from: StoreOrigin())
          ended.withLock { $0 += 1 }
        }
        // The clearing waits for a snapshot: nobody who has one may wait for it.
        try await until("the clearing waits") { base.waitingSnapshots == 1 }
        isReleased.withLock { $0 = true }
        do {
          try await until("all commits have ended") { ended.withLock({ $0 }) == 65 }
        } catch {
          // Ends those that wait for a snapshot.
          try await base.close()
          throw error
        }
        try await group.waitForAll()
      }
      try await engine.verifyFreshness()
      #expect(try await engine.summaries().count == 64)
      try await engine.close()
      try await open(.sqlite).close()
    }

    @Test(
      "Puts, removals and clearings of the same keys by many tasks are counted exactly",
      arguments: [BaseStore.memory, .sqlite, .file])
    func sameKeys(_ kind: BaseStore) async throws {
      let base = try await base(kind)
      let engine = try await base.anchored(anchor, coversValues: true)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<8 {
          group.addTask {
            for number in 0..<(kind == .file ? 12 : 50) {
              let key = StoreKey.known("k/\((number * 7 + task) % 5)")
              switch (number + task) % 9 {
              case 3: try await engine.commit(WriteBatch([.delete(key)]), from: StoreOrigin())
              case 5: try await engine.commit(WriteBatch([.clear(prefix: "k/1")]), from: StoreOrigin())
              case 7:
                let batch = WriteBatch([.clear(prefix: "k/"), .put(key, Data("batch".utf8))])
                try await engine.commit(batch, from: StoreOrigin())
              default: try await engine.put(key, "\(task) \(number)")
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try await engine.verifyFreshness()
      try await engine.flush()
      let again = try await base.anchored(anchor, coversValues: true)
      try await again.verifyFreshness()
      try await base.close()
    }

    @Test("A prefix is cleared, and values are counted anew, while others keep writing")
    func counting() async throws {
      let engine = try await open(.sqlite)
      var batch = WriteBatch()
      for number in 0..<2_000 { batch.put(.known("many/\(number)"), Data("value".utf8)) }
      batch.put("damaged", Data("value".utf8))
      try await engine.commit(batch, from: StoreOrigin())
      try execute("UPDATE coffer_values SET attributes = x'040500' WHERE key = CAST('damaged' AS BLOB)")
      let isEnded = Locked(false)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<3 {
          group.addTask {
            var number = 0
            while !isEnded.withLock({ $0 }) {
              number += 1
              // Keys that are counted and not replaced by the others, in changing order.
              try await engine.put(.known("other/\(task)/\(number % 7)"), "\(number)")
              if number % 3 == 0 {
                let key = StoreKey.known("other/\(task)/\(number % 5)")
                try await engine.commit(WriteBatch([.delete(key)]), from: StoreOrigin())
              }
            }
          }
        }
        defer { isEnded.withLock { $0 = true } }
        try await engine.put("damaged", "replaced")
        try await engine.commit(WriteBatch([.clear(prefix: "many/")]), from: StoreOrigin())
        isEnded.withLock { $0 = true }
        try await group.waitForAll()
      }
      try await engine.verifyFreshness()
      #expect(try await engine.text("damaged") == "replaced")
      try await engine.close()
      try await open(.sqlite).close()
    }

    @Test("A handler of a damage event can write the store and wait for it")
    func handlerWrites() async throws {
      let (handled, writer) = (Locked<Bool?>(nil), Locked<EncryptedEngine?>(nil))
      let events = CofferEvents { event in
        guard case .damaged = event.kind, let engine = writer.withLock({ $0 }) else { return }
        let written = DispatchSemaphore(value: 0)
        Task.detached {
          _ = try? await engine.put("log", "damage")
          written.signal()
        }
        let isWritten = written.wait(timeout: .now() + 20) == .success
        handled.withLock { $0 = isWritten }
      }
      let base = MemoryEngine()
      let engine = try await EventHookEngine(base, events).anchored(anchor, coversValues: true)
      try await engine.put("key", "one")
      writer.withLock { $0 = engine }
      try await base.commit(WriteBatch([.putRecord(ValuesRecord.name, Data("damage".utf8))]), from: StoreOrigin())
      try await engine.put("key", "two")
      try await until("the event was handled") { handled.withLock { $0 } != nil }
      #expect(handled.withLock { $0 } == true)
      #expect(try await engine.text("log") == "damage")
    }

    @Test(
      "A value whose row is damaged is damage, also in stores of files, and is replaced by its next put",
      arguments: [BaseStore.sqlite, .file, .prefs])
    func damagedRow(_ kind: BaseStore) async throws {
      let engine = try await open(kind)
      try await engine.put("key", "one")
      try await engine.put("other", "1")
      try await engine.flush()
      let column = kind == .sqlite ? "attributes" : "value"
      try execute("UPDATE coffer_values SET \(column) = x'040500' WHERE key = CAST('key' AS BLOB)")
      let error = try await storageError { try await engine.verifyFreshness() }
      #expect(error.code == .damaged, "\(error)")
      try await engine.put("key", "two")
      try await engine.verifyFreshness()
      try await engine.close()
      try await open(kind).close()
    }

    @Test("A record of the values that is removed while they are counted is written again")
    func removedRecord() async throws {
      let base = MemoryEngine()
      let hook = HookEngine(base)
      let engine = try await hook.anchored(anchor, coversValues: true)
      try await engine.put("key", "one")
      try await engine.flush()
      hook.beforeSnapshot { try await base.commit(WriteBatch([.deleteRecord(ValuesRecord.name)]), from: StoreOrigin()) }
      let accepted = try await hook.anchored(anchor, accepts: true, coversValues: true)
      try await accepted.verifyFreshness()
      #expect(try await accepted.text("key") == "one")
    }

    @Test("What is removed after a clearing of hidden names is anchored too")
    func lateRemoval() async throws {
      let hook = HookEngine(MemoryEngine())
      let engine = try await hook.anchored(anchor, .hidden, coversValues: true)
      let other = try await hook.base.encrypted(.hidden)
      try await engine.put("p/1", "one")
      hook.beforeCommit {
        // Added after the keys of the prefix were listed.
        try await other.put("p/2", "late")
        // Before the snapshot in which the late value is found.
        hook.beforeSnapshot { try await engine.flush() }
      }
      try await engine.commit(WriteBatch([.clear(prefix: "p/")]), from: StoreOrigin())
      #expect(try await engine.summaries().isEmpty)
      let revision = hook.latestRevision
      try await engine.close()
      let anchored = try AnchorRecord(try #require(anchor.state.withLock { $0.record }))
      #expect(anchored.revision > revision)
    }
  }

  /// An engine that calls a closure before its next commit or snapshot.
  private final class HookEngine: EngineDecorator {
    typealias Action = @Sendable () async throws -> Void

    let base: any StorageEngine
    private let commitAction = Locked<Action?>(nil)
    private let snapshotAction = Locked<Action?>(nil)

    init(_ base: any StorageEngine) { self.base = base }

    func beforeCommit(_ action: @escaping Action) { commitAction.withLock { $0 = action } }
    func beforeSnapshot(_ action: @escaping Action) { snapshotAction.withLock { $0 = action } }

    private func take(_ action: Locked<Action?>) async throws {
      let next = action.withLock { action in
        defer { action = nil }
        return action
      }
      try await next?()
    }

    func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
      try await take(commitAction)
      return try await base.commit(batch, from: origin)
    }

    func withSnapshot<R: Sendable>(
      _ body: @Sendable (any StorageSnapshot) async throws -> R
    ) async throws -> R {
      try await take(snapshotAction)
      return try await base.withSnapshot(body)
    }

    func close() async throws {}
  }
#endif
