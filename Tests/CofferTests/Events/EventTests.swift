import Coffer
import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// The kinds of stores that the tests open without a desktop.
enum EventStore: String, CaseIterable {
  case sqlite, file, sealed, memory

  func location(in directory: TemporaryDirectory) throws -> StoreLocation {
    switch self {
    case .sqlite: try StoreLocation("sqlite:\(directory.path("app.db"))")
    case .file: try StoreLocation("file:\(directory.path("files"))")
    case .sealed: try StoreLocation("sealed:\(directory.path("secrets.sealed"))")
    case .memory: try StoreLocation("memory:events")
    }
  }

  func open(_ recorder: EventRecorder, in directory: TemporaryDirectory) async throws -> any StorageEngine {
    var options = StoreOptions()
    options.events = recorder.events
    options.passphrase = { _ in .provided { Data("correct horse battery".utf8) } }
    return try await location(in: directory).open(options)
  }
}

@Suite(.blocking) struct EventTests {
  private let directory: TemporaryDirectory
  private let recorder = EventRecorder()
  private let origin = StoreOrigin()

  init() throws { directory = try TemporaryDirectory() }

  // Requirement 5.7
  @Test(arguments: EventStore.allCases)
  func aCommitIsToldOnceWithItsSize(_ kind: EventStore) async throws {
    let engine = try await kind.open(recorder, in: directory)
    let id = TransactionID()
    let batch = WriteBatch(
      [.require("a", nil), .put("a", Data(count: 300)), .put("b", Data(count: 40)), .delete("c")], transaction: id)
    let commit = try await engine.commit(batch, from: origin)
    let told = try #require(recorder.commits.first)
    #expect(recorder.commits.count == 1)
    #expect(told.revision == commit.revision && told.transaction == id && !told.isSweep)
    #expect(told.operations == 3 && told.durability == .full && told.duration > .zero)
    #expect(told.bytes == (kind == .sealed ? nil : 340))
    #expect(told.groupSize == (kind == .memory ? nil : 1))
    // A batch of preconditions is no commit.
    try await engine.commit(WriteBatch([.require("a", commit.revision)]), from: origin)
    #expect(recorder.commits.count == 1 && recorder.failures.isEmpty)
    try await engine.close()
    #expect(recorder.all.allSatisfy { $0.location == engine.description }, "\(recorder.all)")
  }

  // Requirement 5.7
  @Test(arguments: EventStore.allCases)
  func aFailureIsToldWithItsCode(_ kind: EventStore) async throws {
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

  @Test(arguments: [EventStore.sqlite, .file, .sealed])
  func openingAndClosingAreToldPerHandle(_ kind: EventStore) async throws {
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
    let engine = try await EventStore.sqlite.open(recorder, in: directory)
    #expect(engine.latestRevision == .zero)
  }

  @Test func aFailedOpeningIsTold() async throws {
    var options = StoreOptions()
    options.events = recorder.events
    options.createsIfMissing = false
    for kind in [EventStore.sqlite, .file] {
      let location = try kind.location(in: directory)
      await expectStorageError(.notFound) { _ = try await location.open(options) }
    }
    #expect(recorder.all.map(\.location) == ["sqlite:\(directory.path("app.db"))", "file:\(directory.path("files"))"])
    #expect(recorder.failures.map(\.code) == [.notFound, .notFound])
    #expect(recorder.failures.allSatisfy { $0.operation == .open })
  }

  // Requirement 5.7
  @Test(arguments: [StoreDurability.relaxed, .full])
  func commitsThatShareASyncTellTheirGroup(_ durability: StoreDurability) async throws {
    let engine = try await EventStore.sqlite.open(recorder, in: directory)
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
  @Test(arguments: [EventStore.sqlite, .file])
  func commitsOfOtherProcessesAreNotTold(_ kind: EventStore) async throws {
    let location = try kind.location(in: directory)
    let engine = try await kind.open(recorder, in: directory)
    try await engine.commit(WriteBatch([.put("a", Data("1".utf8)), .put("b", Data("1".utf8))]), from: origin)
    let changes = engine.changes(since: engine.latestPosition)
    let helper = try HelperProcess(["transfer", "\(location)", "1", "a", "b"])
    #expect(try helper.lines().count == 1 && helper.wait() == 0)
    for await _ in changes { break }
    #expect(recorder.commits.count == 1)
    try await engine.close()
  }

  @Test(.timeLimit(.minutes(2)), arguments: [EventStore.sqlite, .file, .sealed])
  func sweepsAreToldAsSuch(_ kind: EventStore) async throws {
    let clock = SettableClock()
    var options = StoreOptions()
    options.events = recorder.events
    options.database.clock = clock.storeClock
    options.slots.clock = clock.storeClock
    options.passphrase = { _ in .provided { Data("correct horse battery".utf8) } }
    let engine = try await kind.location(in: directory).open(options)
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
