import CofferCore
import CofferRouter
import CofferTesting
import Foundation
import Testing

/// What an interrupted, forced, slow or merely examined migration does.
@Suite(.timeLimit(.minutes(5))) struct MigrationContinuationTests {
  private struct Catalog: StorageKeyCatalog { let allKeys: [AnyStorageKey] }

  private let first = plain("first", String.self, in: .engine("a"))
  private let last = plain("last", String.self, in: .engine("b"))
  private let failure = StorageError(.diskFull, "No space is left.", advice: "Remove files.")
  private let stores = (
    a: FaultInjectingEngine(MemoryEngine()), b: FaultInjectingEngine(MemoryEngine()),
    new: FaultInjectingEngine(MemoryEngine())
  )

  private func router(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
    StorageRouter.inMemory {
      $0.engines = ["a": stores.a, "b": stores.b, "new": stores.new]
      change(&$0)
    }
  }

  /// The name of two older values in two stores.
  private var name: TypedKey<String> {
    plain("name", String.self, in: .engine("new")).migrating { [first, last] key in
      AnyStorageMigration(from: [.key(first), .key(last)], to: key) { values in
        [values[first], values[last]].compactMap { $0 }.joined(separator: " ")
      }
    }
  }

  @Test("An interrupted aggregation is continued, and not made again of the older values that are left")
  func aggregation() async throws {
    for isFirst in [true, false] {
      for number in 1...3 {
        for isAfter in [true, false] {
          let (router, engine) = (router(), isFirst ? stores.a : stores.b)
          try await router.remove(plain("name", String.self, in: .engine("new")))
          try await router.set("Ann", for: first)
          try await router.set("Lee", for: last)
          engine.inject(isAfter ? .failAfter(failure) : .fail(failure), into: .commit, at: number)
          _ = try? await self.router().forceMigration(for: name)
          engine.removeFaults()
          let comment = Comment(rawValue: "\(isFirst) \(number) \(isAfter)")
          #expect(try await self.router().get(name) == "Ann Lee", comment)
          for key in [first, last] { #expect(try await !router.exists(key), comment) }
        }
      }
    }
  }

  @Test("An older value that was changed after its partner was removed does not replace the new one")
  func changedAfterwards() async throws {
    try await router().set("Ann", for: first)
    try await router().set("Lee", for: last)
    stores.b.inject(.fail(failure), into: .commit, at: 1)
    await expectError(.diskFull) { _ = try await router().get(name) }
    stores.b.removeFaults()
    for (key, isThere) in [(first, false), (last, true)] { #expect(try await router().exists(key) == isThere) }
    try await router().set("Kim", for: last)
    #expect(try await router().get(name) == "Ann Lee")
    #expect(try await router().get(last) == "Kim", "it belongs to nobody's new value")
  }

  // Requirement 4.9
  @Test("An interrupted migration is continued under another name, and by one that was written anew")
  func renamed() async throws {
    for (store, failing) in [(stores.a, 1), (stores.b, 1), (stores.new, 2)] {
      let router = router()
      try await router.remove(plain("name", String.self, in: .engine("new")))
      try await router.set("Ann", for: first)
      try await router.set("Lee", for: last)
      store.inject(.fail(failure), into: .commit, at: failing)
      await expectError(.diskFull) { _ = try await self.router().forceMigration(for: name) }
      store.removeFaults()
      let renamed = plain("name", String.self, in: .engine("new")).migrating { [first, last] key in
        AnyStorageMigration(from: [.key(last), .key(first)], to: key) { "\($0.count) anew" }.before(appVersion: "9.0")
      }
      let comment = Comment(rawValue: "failing commit \(failing)")
      #expect(try await self.router().get(renamed) == "Ann Lee", comment)
      for key in [first, last] { #expect(try await !router.exists(key), comment) }
      let judge = self.router()
      try await judge.registerCatalog(Catalog(allKeys: [.key(renamed)]))
      guard case .done(.migrated, _, _)? = await migrationState(in: judge) else {
        Issue.record(comment)
        return
      }
    }
  }

  @Test("An interrupted migration from other keys is left alone")
  func others() async throws {
    try await router().set("Ann", for: first)
    try await router().set("Lee", for: last)
    stores.b.inject(.fail(failure), into: .commit, at: 1)
    await expectError(.diskFull) { _ = try await router().get(name) }
    stores.b.removeFaults()
    #expect(try await router().get(moved("name", in: .engine("new"), from: first)) == "Ann Lee")
    #expect(try await router().get(last) == "Lee")
    #expect(try await router().get(name) == "Ann Lee")
    #expect(try await !router().exists(last))
  }

  @Test("Two domains that lead to one store do not make a key its own older one")
  func oneStore() async throws {
    let engine = MemoryEngine()
    func router() -> StorageRouter { StorageRouter.inMemory { $0.engines = ["old": engine, "new": engine] } }
    let old = plain("token", String.self, in: .engine("old"))
    try await router().set("secret", for: old)
    #expect(try await router().get(moved("token", in: .engine("new"), from: old)) == "secret")
    #expect(try await router().get(old) == "secret")
  }

  @Test("A value can be read although nothing can be recorded")
  func fullDisk() async throws {
    try await router().set("mine", for: plain("name", String.self, in: .engine("new")))
    for number in 1...20 { stores.new.inject(.fail(failure), into: .commit, at: number) }
    #expect(try await router().get(name) == "mine")
  }

  @Test("A forced migration follows the one under way")
  func forced() async throws {
    let (runs, gate) = (Locked(0), Locked(false))
    let key = plain("forced", in: .engine("new")).migrating { key in
      AnyStorageMigration(
        CountedMigration(destinationKey: key, runs: runs) { _, _ in
          try await eventually("the gate opens") { gate.withLock { $0 } }
          return MigrationResult(success: true, migratedCount: runs.withLock { $0 })
        })
    }
    let router = router()
    async let ordinary = router.exists(key)
    try await eventually("the ordinary run") { runs.withLock { $0 } == 1 }
    async let forced = router.forceMigration(for: key)
    try await Task.sleep(for: .milliseconds(20))  // time passes: the forced migration meets the one under way
    gate.withLock { $0 = true }
    #expect(try await !ordinary)
    #expect(try await forced.migratedCount == 2)
  }

  @Test("An access does not wait for ever for a migration that does not end")
  func endless() async throws {
    let gate = Locked(false)
    let key = plain("endless", in: .engine("new")).migrating { key in
      AnyStorageMigration(
        CountedMigration(destinationKey: key, runs: Locked(0)) { _, _ in
          try await eventually("the gate opens") { gate.withLock { $0 } }
          return MigrationResult(success: true)
        })
    }
    let router = router { $0.migrationLimit = .milliseconds(50) }
    await expectError(.busy, "has not ended") { _ = try await router.exists(key) }
    gate.withLock { $0 = true }
    try await eventually("its end") { (try? await router.exists(key)) == false }
  }

  @Test("A dry run of a clear migrates nothing, neither the key nor the older keys")
  func dryRun() async throws {
    let second = moved("second", in: .engine("b"), from: first)
    let third = moved("third", in: .engine("new"), from: second)
    let router = router()
    try await self.router().set("a", for: first)
    try await router.registerCatalog(Catalog(allKeys: [.key(third)]))
    #expect(try await router.clear(all: .values, dryRun: true).removed == ["third"])
    #expect(try await self.router().exists(first))
    #expect(try await router.get(third) == "a")
    #expect(try await !self.router().exists(first))
  }
}
