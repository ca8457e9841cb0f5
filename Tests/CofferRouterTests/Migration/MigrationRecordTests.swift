import CofferRouter
import CofferTesting
import Foundation
import Testing

/// The record of a key's migration, and what is made of it: progress, audit.
@Suite struct MigrationRecordTests {
  private struct Catalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
  }

  private let old = plain("old", String.self, in: .engine("old"))
  private let key = moved(in: .engine("new"), from: plain("old", String.self, in: .engine("old")))
  private let stores = (old: MemoryEngine(), new: MemoryEngine())

  private func router(_ version: String = "1.0", new: (any StorageEngine)? = nil) -> StorageRouter {
    StorageRouter.inMemory {
      $0.engines = ["old": stores.old, "new": new ?? stores.new]
      $0.appVersion = version
    }
  }

  /// The name of the only record in the new store.
  private func record() throws -> SystemRecord.Name {
    let commits = try #require(stores.new.recentCommits(after: .zero))
    return try #require(commits.lazy.flatMap(\.changed.records).first)
  }

  // Requirement 4.9
  @Test("The audit has what is pending, what was done and when")
  func audit() async throws {
    let router = router("2.5")
    let fresh = moved("fresh", in: .engine("new"))
    try await router.registerCatalog(Catalog(allKeys: [.key(key), .key(fresh)]))
    try await self.router().set("a", for: old)
    #expect(await router.auditReport().entries.map(\.migration) == [.pending, .pending])
    #expect(String(decoding: await router.auditReport().html, as: UTF8.self).contains("migration pending"))
    #expect(try await router.get(key) == "a")

    var entries = await router.auditReport().entries
    #expect(entries.first?.migration == .pending)
    guard case .done(.migrated, let date, isScrubbed: true)? = entries.last?.migration else {
      Issue.record("\(entries)")
      return
    }
    #expect(abs(date.timeIntervalSinceNow) < 60)
    #expect(entries.last?.key.migration == key.migration?.name && key.migration?.name.contains("'old'") == true)
    #expect(try await !router.exists(fresh))
    entries = await router.auditReport().entries
    guard case .done(.nothingToMigrate, _, isScrubbed: true)? = entries.first?.migration else {
      Issue.record("\(entries)")
      return
    }
    let page = String(decoding: await router.auditReport().html, as: UTF8.self)
    #expect(page.contains("nothing to migrate") && !page.contains("pending"))
    let manifest = try StorageManifest(decoding: try await router.manifest().encoded)
    #expect(manifest.entries.last?.migration == key.migration?.name)
  }

  // Requirement 4.9
  @Test("All keys are migrated with progress; one that fails does not keep the others from it")
  func progress() async throws {
    let router = router()
    let failing = plain("failing", in: .engine("new")).migrating { [old] key in
      AnyStorageMigration(from: old, to: key) { (_: String) throws -> Int in
        throw MigrationError.transformFailed(key: "failing", reason: "it is too long")
      }
    }
    let others = (1...3).map { number in
      moved("key \(number)", in: .engine("new"), from: plain("old \(number)", String.self, in: .engine("old")))
    }
    try await router.set("x", for: old)
    for number in 1...3 { try await router.set("v", for: plain("old \(number)", String.self, in: .engine("old"))) }
    try await router.registerCatalog(Catalog(allKeys: [.key(failing)] + others.map { .key($0) }))
    let run = router.migrateRegisteredKeys()
    var last: StorageRouter.MigrationState?
    for await state in run.updates {
      #expect(state.keys >= last?.keys ?? 0 && state.totalKeys == 4)
      last = state
    }
    let report = try await run.result()
    #expect(last?.keys == 4 && run.progress.completedUnitCount == 4 && run.progress.totalUnitCount == 4)
    #expect(report.migrated.map(\.name) == others.map(\.name) && !report.isComplete && report.cancelled.isEmpty)
    #expect(report.failures.count == 1 && report.failures.first?.message.contains("too long") == true)
    for key in others { #expect(try await router.get(key) == "v") }

    let cancelled = router.migrateRegisteredKeys()
    cancelled.cancel()
    let rest = try await cancelled.result()
    #expect(rest.migrated.count + rest.failures.count + rest.cancelled.count == 4)
  }

  // Requirement 4.9
  @Test("A record with a flipped bit, or one of a newer format, loses no value")
  func damagedRecord() async throws {
    try await router().set("a", for: old)
    #expect(try await router().get(key) == "a")
    let (name, origin) = (try record(), StoreOrigin())
    let intact = try #require(try await stores.new.record(name)).content
    for bit in 0..<(intact.count * 8) {
      var damaged = intact
      damaged[damaged.startIndex + bit / 8] ^= 1 << (bit % 8)
      try await stores.new.commit(WriteBatch([.putRecord(name, damaged)]), from: origin)
      try await stores.old.commit(WriteBatch([.put("old", Data(#""b""#.utf8))]), from: origin)
      let router = router()
      #expect(try await router.get(key) == "a", "bit \(bit)")
      #expect(try await router.get(old) == "b")
    }
    let newer = String(decoding: intact, as: UTF8.self).replacing("coffer-migrations 1 ", with: "coffer-migrations 2 ")
    try await stores.new.commit(WriteBatch([.putRecord(name, Data(newer.utf8))]), from: origin)
    #expect(try await router().get(key) == "a", "its checksum does not match")
  }

  // Requirement 4.9
  @Test("A fault of any commit or read leaves the older value or the new one, and the next access completes it")
  func faults() async throws {
    for call in [FaultInjectingEngine.Call.commit, .read] {
      for number in 1...12 {
        for isAfter in [false, true] {
          for isOld in [false, true] {
            let (old, new) = (FaultInjectingEngine(MemoryEngine()), FaultInjectingEngine(MemoryEngine()))
            let engine = isOld ? old : new
            func router() -> StorageRouter { StorageRouter.inMemory { $0.engines = ["old": old, "new": new] } }
            try await router().set("a", for: self.old)
            let failure = StorageError(.diskFull, "No space is left.", advice: "Remove files.")
            engine.inject(isAfter ? .failAfter(failure) : .fail(failure), into: call, at: number)
            do { #expect(try await router().get(key) == "a") } catch let error as StorageError {
              #expect(error.code == .diskFull && error.key == "new")
            }
            engine.removeFaults()
            #expect(try await router().get(key) == "a", "\(call) \(number)")
            #expect(try await !router().exists(self.old), "\(call) \(number)")
            #expect(try await router().forceMigration(for: key).migratedCount == 0)
          }
        }
      }
    }
  }

  // Requirement 4.9
  @Test("Routers that share no memory migrate once, and an edit of the older value meanwhile is not lost")
  func races() async throws {
    for round in 0..<50 {
      let (old, new) = (MemoryEngine(), MemoryEngine())
      @Sendable func router() -> StorageRouter { StorageRouter.inMemory { $0.engines = ["old": old, "new": new] } }
      try await router().set("a", for: self.old)
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<4 { group.addTask { [key] in try await router().get(key) } }
        group.addTask {
          let edit = WriteBatch([.require("old", StoreRevision(1)), .put("old", Data(#""b""#.utf8))])
          _ = try? await old.commit(edit, from: StoreOrigin())
          return "b"
        }
        for try await value in group { #expect(["a", "b"].contains(value)) }
      }
      let older = try await old.entry("old")?.value
      let newer = try await router().get(key)
      #expect(older == nil || newer == "a", "round \(round): \(older as Any) \(newer)")
    }
  }
}
