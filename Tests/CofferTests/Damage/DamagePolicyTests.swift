import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import Coffer

/// What was handled, in order.
final class Handled: Sendable {
  private let all = Locked<[TypedStore.HandledDamage]>([])

  func add(_ handled: TypedStore.HandledDamage) { all.withLock { $0.append(handled) } }

  var outcomes: [String] {
    all.withLock { $0 }.map { handled in
      switch handled.outcome {
      case .replaced: "replaced"
      case .failed: "failed"
      }
    }
  }
}

/// Policies for damaged values, over real stores whose bits were flipped.
@Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct DamagePolicyTests {
  private let stores = DamagedStores()
  private let key = KeyName("k")
  private struct Broken: Error {}

  private func store(
    over engine: any StorageEngine, _ policy: DamagePolicy<Data>, _ handled: Handled = Handled()
  ) -> TypedStore {
    TypedStore(engine: engine, damagePolicy: policy, onDamageHandled: handled.add)
  }

  @Test(arguments: TestedStore.damageable) func byDefaultReadsThrow(_ kind: TestedStore) async throws {
    let damaged = try await stores.make(kind)
    let engine = try await damaged.open()
    let handled = Handled()
    let store = store(over: engine, .fail, handled)
    for _ in 0..<2 { await expectStorageError(.damaged) { _ = try await store.load(String.self, for: key) } }
    #expect(handled.outcomes == [])
    try await engine.close()
  }

  // Requirement 5.8
  @Test(arguments: TestedStore.damageable)
  func oneReplacementIsStoredAndTold(_ kind: TestedStore) async throws {
    let damaged = try await stores.make(kind)
    let engine = try await damaged.open()
    let (handled, reports) = (Handled(), Locked<[DamageReport]>([]))
    let store = store(
      over: engine,
      .replace { report in
        reports.withLock { $0.append(report) }
        return Data("default".utf8)
      }, handled)
    let before = engine.latestRevision
    let values = try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<100 { group.addTask { try await store.load(String.self, for: "k") } }
      return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    #expect(values == ["default"])
    #expect(handled.outcomes == ["replaced"] && engine.latestRevision == before.next)
    let report = try #require(reports.withLock { $0.first })
    #expect(report.key == key && report.location == engine.description)
    // The bytes are in the quarantine: those of the value, or of its whole file.
    let kept = try await engine.quarantine?.quarantinedValues() ?? []
    #expect(kept.contains { $0.id == report.quarantineID } || kept.contains { $0.reason == .damagedFile }, "\(kept)")
    if let id = report.quarantineID {
      let bytes = try await engine.quarantine?.quarantinedBytes(id)
      #expect(
        bytes.map { String(decoding: $0, as: UTF8.self) } == "theVvalue that was written".replacing("V", with: "\0"))
    }
    // The older copy of a file has lost the other value as well.
    #expect(try await store.load(String.self, for: "other") == (report.isCopyUsed ? "default" : "intact"))
    try await engine.close()
    let again = try await damaged.open()
    #expect(try await TypedStore(engine: again).load(String.self, for: "k") == "default")
    try await again.close()
  }

  @Test func thePolicyOfACallTakesPrecedence() async throws {
    let engine = try await stores.make(.sqlite).open()
    let store = store(over: engine, .replace(with: Data("of the store".utf8)))
    let value = try await store.load(String.self, for: key, damagePolicy: .replace(with: "of the call"))
    #expect(value == "of the call")
    try await engine.close()
    let other = try await stores.make(.sqlite).open()
    let second = self.store(over: other, .replace(with: Data("of the store".utf8)))
    await expectStorageError(.damaged) { _ = try await second.load(String.self, for: key, damagePolicy: .fail) }
    #expect(try await second.load(String.self, for: key) == "of the store")
    try await other.close()
  }

  @Test func everyTypedReadFollowsIt() async throws {
    let reads: [(TypedStore) async throws -> String?] = [
      { try await $0.loadAll(String.self, keys: ["other", "k"] as [KeyName])[1] },
      { try await $0.loadVersioned(String.self, for: KeyName("k")).value },
      { try await $0.update(String.self, for: KeyName("k")) { $0 } },
      { store in
        for await value in store.values(of: KeyName("k"), as: String.self) { return try value.get() }
        return nil
      },
    ]
    for (number, read) in reads.enumerated() {
      let engine = try await stores.make(.sqlite).open()
      let store = store(over: engine, .replace(with: Data("default".utf8)))
      #expect(try await read(store) == "default", "read \(number)")
      try await engine.close()
    }
  }

  @Test func aSnapshotThrows() async throws {
    let engine = try await stores.make(.file).open()
    let handled = Handled()
    let store = store(over: engine, .replace(with: Data("default".utf8)), handled)
    await expectStorageError(.damaged) {
      _ = try await engine.withSnapshot { _ in try await store.load(String.self, for: key) }
    }
    #expect(handled.outcomes == [])
    try await engine.close()
  }

  @Test(arguments: TestedStore.damageable.filter { $0.has(.plain) && $0.has(.expiring) }, [false, true])
  func aTransactionRunsAgain(_ kind: TestedStore, _ ignoresErrors: Bool) async throws {
    let engine = try await stores.make(kind).open()
    let (handled, attempts) = (Handled(), Locked(0))
    let store = store(over: engine, .replace(with: Data("default".utf8)), handled)
    let value = try await store.transaction { transaction in
      attempts.withLock { $0 += 1 }
      var value: String?
      do { value = try await transaction.load(String.self, for: key) } catch { if !ignoresErrors { throw error } }
      try transaction.save("\(value ?? "") and more", for: key)
      return value
    }
    #expect(value == "default" && attempts.withLock { $0 } == 2 && handled.outcomes == ["replaced"])
    #expect(try await store.load(String.self, for: key) == "default and more")
    try await engine.close()
  }

  @Test func aTransactionThrowsWhatCannotBeReplaced() async throws {
    let engine = try await stores.make(.sqlite).open()
    let (handled, attempts) = (Handled(), Locked(0))
    let store = store(over: engine, .replace { _ in throw Broken() }, handled)
    let error = await expectStorageError(.damaged) {
      _ = try await store.transaction { transaction in
        attempts.withLock { $0 += 1 }
        return try await transaction.load(String.self, for: key)
      }
    }
    #expect(error?.underlying?.domain.contains("Broken") == true, "\(String(describing: error))")
    #expect(attempts.withLock { $0 } == 1 && handled.outcomes == ["failed"])
    // A closure may write the value anew, or throw an error of its own.
    await #expect(throws: Broken.self) {
      try await store.transaction { transaction in
        do { _ = try await transaction.load(String.self, for: key) } catch { throw Broken() }
      }
    }
    try await store.transaction { transaction in
      do { _ = try await transaction.load(String.self, for: key) } catch { try transaction.save("new", for: key) }
    }
    #expect(try await store.load(String.self, for: key) == "new")
    try await engine.close()
  }

  // Requirement 5.8
  @Test(arguments: TestedStore.damageable)
  func aHandlerThatThrowsChangesNothing(_ kind: TestedStore) async throws {
    let engine = try await stores.make(kind).open()
    let (handled, calls) = (Handled(), Locked(0))
    let store = store(
      over: engine,
      .replace { _ in
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        guard call > 2 else { throw Broken() }
        return Data("third".utf8)
      }, handled)
    let before = engine.latestRevision
    for _ in 0..<2 {
      let error = await expectStorageError(.damaged) { _ = try await store.load(String.self, for: key) }
      #expect(error?.underlying?.domain.contains("Broken") == true, "\(String(describing: error))")
    }
    #expect(engine.latestRevision == before && handled.outcomes == ["failed", "failed"])
    #expect(try await store.load(String.self, for: key) == "third")
    #expect(handled.outcomes == ["failed", "failed", "replaced"])
    try await engine.close()
  }

  /// Bytes that are intact but not of the type belong to another version of the application.
  @Test func bytesThatCannotBeDecodedStay() async throws {
    let engine = MemoryEngine()
    let handled = Handled()
    let store = store(over: engine, .replace(with: Data("1".utf8)), handled)
    try await store.save("text", for: key)
    await expectStorageError(.decodingFailed) { _ = try await store.load(Int.self, for: key) }
    #expect(handled.outcomes == [] && engine.latestRevision == StoreRevision(1))
  }

  @Test func aReplacementThatCannotBeDecodedIsNotStored() async throws {
    let engine = try await stores.make(.sqlite).open()
    let store = store(over: engine, .replace(with: Data("no number".utf8)))
    let before = engine.latestRevision
    await expectStorageError(.damaged, contains: "Int") { _ = try await store.load(Int.self, for: key) }
    #expect(engine.latestRevision == before)
    try await engine.close()
  }

  // Requirement 5.8
  @Test(arguments: TestedStore.damageable)
  func aValueThatAnotherWriterCommitsStays(_ kind: TestedStore) async throws {
    let engine = try await stores.make(kind).open()
    let handled = Handled()
    let store = store(
      over: engine,
      .replace { _ in
        try await TypedStore(engine: engine).save("of another", for: "k")
        return Data("default".utf8)
      }, handled)
    #expect(try await store.load(String.self, for: key) == "of another")
    #expect(handled.outcomes == [])
    try await engine.close()
  }

  /// A file repaired in place, from a copy, has the revision that it had before.
  @Test func aValueThatIsRepairedInPlaceStays() async throws {
    let damaged = try await stores.make(.file)
    let engine = try await damaged.open()
    let path = damaged.path("files/k")
    let store = store(
      over: engine,
      .replace { _ in
        try Data(DamagedStore.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        return Data("default".utf8)
      })
    #expect(try await store.load(String.self, for: key) == DamagedStore.text)
    try await engine.close()
  }

  /// A handler that reads its own key, directly and in a task of its own, ends nevertheless.
  @Test func aHandlerThatReadsItsOwnKeyDoesNotWaitForItself() async throws {
    let engine = try await stores.make(.sqlite).open()
    let stores = Locked<TypedStore?>(nil)
    let inner = Locked<[StorageError.Code]>([])
    let store = store(
      over: engine,
      .replace { _ in
        guard let store = stores.withLock({ $0 }) else { throw Broken() }
        do { _ = try await store.load(String.self, for: "k") } catch let error as StorageError {
          inner.withLock { $0.append(error.code) }
        }
        do { _ = try await store.update(String.self, for: "k") { $0 } } catch let error as StorageError {
          inner.withLock { $0.append(error.code) }
        }
        return Data("default".utf8)
      })
    stores.withLock { $0 = store }
    #expect(try await store.update(String.self, for: key) { $0.map { $0 + "!" } } == "default!")
    #expect(inner.withLock { $0 } == [.damaged, .damaged])
    stores.withLock { $0 = nil }
    try await engine.close()
  }

  /// A read waits for a limited time, and the handler continues.
  @Test func aHandlerThatTakesTooLongDoesNotHoldReads() async throws {
    let engine = try await stores.make(.sqlite).open()
    let (release, releaser) = AsyncStream.makeStream(of: Void.self)
    let (told, teller) = AsyncStream.makeStream(of: Void.self)
    let damage = DamageHandler(
      .replace { _ in
        _ = await release.first { true }
        return Data("late".utf8)
      }, engine, origin: StoreOrigin(), patience: .milliseconds(20), onHandled: { _ in teller.yield() })
    let failure = StorageError(.damaged, "The stored value is damaged.", key: key)
    let error = await expectStorageError(.damaged, contains: "not returned") {
      try await damage.handle(key, after: failure, DamagePlan(damage.policy) { EncodedValue($0) }) { _ in }
    }
    #expect(error?.key == key)
    releaser.yield()
    _ = await told.first { true }
    #expect(try await TypedStore(engine: engine).load(String.self, for: key) == "late")
    try await engine.close()
  }
}
