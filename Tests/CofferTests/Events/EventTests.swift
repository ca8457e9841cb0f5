import Coffer
import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

extension TestedStore {
  func open(_ recorder: EventRecorder, in directory: TemporaryDirectory) async throws -> any StorageEngine {
    // Creating an encrypted store is a commit of its own.
    if self == .encrypted { try await open(in: directory.url).close() }
    return try await open(in: directory.url, StoreOptions(events: recorder.events))
  }
}

@Suite(.blocking) struct EventTests {
  private let directory: TemporaryDirectory
  private let recorder = EventRecorder()
  private let origin = StoreOrigin()

  init() throws { directory = try TemporaryDirectory() }

  // Requirement 5.7
  @Test(arguments: TestedStore.all)
  func aCommitIsToldOnceWithItsSize(_ kind: TestedStore) async throws {
    let engine = try await kind.open(recorder, in: directory)
    let id = TransactionID()
    let batch = WriteBatch(
      [.require("a", nil), .put("a", Data(count: 300)), .put("b", Data(count: 40)), .delete("c")], transaction: id)
    let commit = try await engine.commit(batch, from: origin)
    let told = try #require(recorder.commits.first)
    #expect(recorder.commits.count == 1)
    #expect(told.revision == commit.revision && told.transaction == id && !told.isSweep)
    #expect(told.operations == 3 && told.durability == .full && told.duration > .zero)
    if kind != .encrypted { #expect(told.bytes == (engine.capabilities.contains(.secrecy) ? nil : 340)) }
    #expect(told.groupSize == (kind == .memory ? nil : 1))
    // A batch of preconditions is no commit.
    try await engine.commit(WriteBatch([.require("a", commit.revision)]), from: origin)
    #expect(recorder.commits.count == 1 && recorder.failures.isEmpty)
    try await engine.close()
    #expect(recorder.all.allSatisfy { $0.location == engine.description }, "\(recorder.all)")
  }

  // Requirement 5.7
  @Test(arguments: TestedStore.all)
  func aFailureIsToldWithItsCode(_ kind: TestedStore) async throws {
    let engine = try await kind.open(recorder, in: directory)
    await expectStorageError(.preconditionFailed) {
      try await engine.commit(WriteBatch([.require("a", StoreRevision(7)), .put("a", Data())]), from: origin)
    }
    try await engine.close()
    await expectStorageError(.closed) { try await engine.commit(WriteBatch([.put("a", Data())]), from: origin) }
    #expect(recorder.failures.map(\.code) == [.preconditionFailed, .closed])
    #expect(recorder.failures.allSatisfy { $0.operation == .commit })
    #expect(recorder.commits.isEmpty)
  }

  @Test(arguments: TestedStore.all.filter { $0 != .memory })
  func openingAndClosingAreToldPerHandle(_ kind: TestedStore) async throws {
    let engine = try await kind.open(recorder, in: directory)
    try await engine.commit(WriteBatch([.put("a", Data())]), from: origin)
    let other = EventRecorder()
    let second = try await kind.open(other, in: directory)
    guard case .opened(let opening)? = other.all.first?.kind else { throw TestFailure("\(other.all)") }
    #expect(opening.revision == engine.latestRevision && !opening.isReadOnly && opening.duration > .zero)
    #expect(recorder.all.count { $0.isOpened } == 1)
    try await second.close()
    try await second.close()
    try await other.first { $0.kind == .closed }
    try await engine.close()
    try await recorder.first { $0.kind == .closed }
    #expect(other.all.count { $0.kind == .closed } == 1)
    // Each handle tells its own commits.
    #expect(other.commits.isEmpty && recorder.commits.count == 1)
  }

  @Test func aHandleThatIsReleasedIsToldAsClosed() async throws {
    try await openAndRelease()
    try await recorder.first { $0.kind == .closed }
  }

  private func openAndRelease() async throws {
    let engine = try await TestedStore.sqlite.open(recorder, in: directory)
    #expect(engine.latestRevision == .zero)
  }

  @Test func aFailedOpeningIsTold() async throws {
    var options = StoreOptions(events: recorder.events)
    options.createsIfMissing = false
    for kind in [TestedStore.sqlite, .file] {
      let location = try await kind.location(in: directory.url)
      await expectStorageError(.notFound) { _ = try await location.open(options) }
      #expect(recorder.all.last?.location == "\(location)")
    }
    #expect(recorder.failures.map(\.code) == [.notFound, .notFound])
    #expect(recorder.failures.allSatisfy { $0.operation == .open })
  }

  // Requirement 5.7
  @Test(arguments: [StoreDurability.relaxed, .full])
  func commitsThatShareASyncTellTheirGroup(_ durability: StoreDurability) async throws {
    let engine = try await TestedStore.sqlite.open(recorder, in: directory)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        let batch = WriteBatch([.put(try KeyName("\(number)"), Data(count: 10))], durability: durability)
        group.addTask { try await engine.commit(batch, from: origin) }
      }
      try await group.waitForAll()
    }
    let commits = recorder.commits
    #expect(commits.count == 200 && Set(commits.map(\.revision)).count == 200)
    #expect(commits.allSatisfy { $0.bytes == 10 && ($0.groupSize ?? 0) >= 1 })
    // The commits of a group of n tell n, so the sum of 1/n is the number of groups.
    let groups = commits.reduce(0.0) { $0 + 1 / Double($1.groupSize ?? 1) }
    #expect(abs(groups - groups.rounded()) < 0.001)
    if durability == .full { #expect(commits.contains { ($0.groupSize ?? 0) > 1 }) }
    try await engine.close()
  }

  // Requirement 5.7
  @Test(arguments: [TestedStore.sqlite, .file])
  func commitsOfOtherProcessesAreNotTold(_ kind: TestedStore) async throws {
    let location = try await kind.location(in: directory.url)
    let engine = try await kind.open(recorder, in: directory)
    try await engine.commit(WriteBatch([.put("a", Data("1".utf8)), .put("b", Data("1".utf8))]), from: origin)
    let changes = engine.changes(since: engine.latestPosition)
    let helper = try HelperProcess(["transfer", "\(location)", "1", "a", "b"])
    #expect(try helper.lines().count == 1 && helper.wait() == 0)
    for await _ in changes { break }
    #expect(recorder.commits.count == 1)
    try await engine.close()
  }

  @Test(.timeLimit(.minutes(2)), arguments: TestedStore.with(.expiring))
  func sweepsAreToldAsSuch(_ kind: TestedStore) async throws {
    let clock = SettableClock()
    let engine = try await kind.open(
      in: directory.url, StoreOptions(clock: clock.storeClock, events: recorder.events))
    var attributes = ValueAttributes()
    attributes.expires = clock.now + 60
    try await engine.commit(WriteBatch([.put("a", Data(count: 9), attributes)]), from: origin)
    clock.advance(by: 4_000)
    try await engine.commit(WriteBatch([.put("b", Data())]), from: origin)
    let event = try await recorder.first { if case .committed(let commit) = $0.kind { commit.isSweep } else { false } }
    #expect(event.description.contains("swept") && event.location == engine.description)
    // The sweep may come before the second commit.
    let sweeps = recorder.commits.filter(\.isSweep)
    #expect(sweeps.map(\.operations) == [1] && sweeps.allSatisfy { $0.revision > StoreRevision(1) })
    try await engine.close()
  }
}

extension StoreEvent {
  var isOpened: Bool { if case .opened = kind { true } else { false } }
}
