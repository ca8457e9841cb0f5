import CofferCore
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import Coffer

/// Batches with conditions of their own in a store whose values have versions.
@Suite(.timeLimit(.minutes(1))) struct SchemaConditionTests {
  private let engine = MemoryEngine()
  private let put = WriteBatch.Operation.put("style", Data("{}".utf8), .none)

  /// A condition on a record does not hold before somebody changes the record back, which nobody does: a migration that
  /// has lost a race must see that, and not try its commit for ever.
  @Test func aConditionThatDoesNotHoldIsThrownOnce() async throws {
    let store = try Styles.version2(engine)
    let name = try SystemRecord.Name("router/migrations/a")
    try await engine.commit(WriteBatch([.putRecord(name, Data([1]))]), from: StoreOrigin())
    let revision = engine.latestRevision
    for operations in [
      [.requireRecord(name, nil), .putRecord(name, Data([2]))], [.requireRecord(name, nil), put],
      [.require("other", StoreRevision(9)), put], [.require("style", StoreRevision(9)), put],
    ] as [[WriteBatch.Operation]] {
      await expectStorageError(.preconditionFailed) { try await store.commit(WriteBatch(operations), []) }
    }
    #expect(engine.latestRevision == revision)
    try await store.commit(WriteBatch([.requireRecord(name, revision), put]), [])
    #expect(engine.latestRevision > revision)
  }

  /// The condition that the store adds concerns the caller only if the other value is newer.
  @Test func aValueThatIsReplacedMeanwhileIsCheckedAgain() async throws {
    let racing = FaultInjectingEngine(engine)
    let store = try Styles.version2(racing)
    let name = try SystemRecord.Name("router/migrations/a")
    let lost = StorageError.preconditionFailed("style", location: "memory:memory")
    racing.inject(.fail(lost), into: .commit, times: 1)
    try await store.commit(WriteBatch([.requireRecord(name, nil), put]), [])
    racing.inject(.fail(lost), into: .commit, times: 1)
    try await store.commit(WriteBatch([put]), [])
    #expect(try await engine.entry("style")?.value == Data("{}".utf8))
  }
}
