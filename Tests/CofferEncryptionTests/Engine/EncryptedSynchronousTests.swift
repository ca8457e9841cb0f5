import CofferCore
import CofferEncryption
import CofferLocks
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@Suite("Encrypted stores for code that cannot suspend") struct EncryptedSynchronousTests {
  private let base = MemoryEngine()

  @Test(arguments: [EncryptionSettings(), .hidden]) func submissionsKeepTheirOrder(_ settings: EncryptionSettings)
    async throws
  {
    let engine = try await base.encrypted(settings)
    try engine.requireSynchronousUse()
    let outcomes = Locked<[Result<StoreCommit, any Error>]>([])
    let origin = StoreOrigin()
    for number in 0..<40 {
      // A new ring makes the next submission fail at first, and a prefix has to be listed.
      if number == 20 { try await base.changeRing { try $0.addPrimary(now: Date()) } }
      let operations: [WriteBatch.Operation] =
        number % 8 == 7 ? [.clear(prefix: "key")] : [.put("key", Data("\(number)".utf8))]
      engine.submit(WriteBatch(operations, durability: .relaxed), from: origin) { outcome in
        outcomes.withLock { $0.append(outcome) }
      }
    }
    let deadline = ContinuousClock.now + .seconds(30)
    while outcomes.withLock({ $0.count }) < 40 {
      try #require(ContinuousClock.now < deadline)
      await Task.yield()
    }
    let commits = try outcomes.withLock { $0 }.map { try $0.get() }
    #expect(commits.map(\.revision) == commits.map(\.revision).sorted())
    for (number, commit) in commits.enumerated() {
      #expect(
        commit.changed == StoreSelection(keys: number % 8 == 7 ? [] : ["key"], prefixes: number % 8 == 7 ? ["key"] : [])
      )
    }
    #expect(try engine.entryNow("key") == nil)
  }

  @Test func readsThatNeedANewerRingAreBusyAtFirst() async throws {
    let engine = try await base.encrypted(.hidden)
    let other = try await base.encrypted(.hidden)
    try await base.changeRing { try $0.addPrimary(now: Date()) }
    try await other.put("key", "1")
    var outcomes: [StorageError.Code] = []
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      do {
        #expect(try engine.entryNow("key")?.value == Data("1".utf8))
        break
      } catch let error as StorageError {
        outcomes.append(error.code)
        await Task.yield()
      }
    }
    #expect(try engine.entryNow("key") != nil)
    #expect(Set(outcomes).isSubset(of: [.busy]))
  }

  @Test func aBaseThatSuspendsIsNotUsed() async throws {
    let engine = try await FaultInjectingEngine(base).encrypted()
    #expect(throws: StorageError.self) { try engine.requireSynchronousUse() }
    #expect(throws: StorageError.self) { try engine.entryNow("key") }
  }
}
