import Coffer
import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import CofferCore

@Suite(.blocking) struct EventDeliveryTests {
  private let directory: TemporaryDirectory
  private let recorder = EventRecorder()
  private let origin = StoreOrigin()

  init() throws { directory = try TemporaryDirectory() }

  /// Every event makes the handler write to the same store, with and without suspending.
  // Requirement 5.7
  @Test(.timeLimit(.minutes(1)), arguments: [TestedStore.sqlite, .file, .memory])
  func aHandlerMayWriteToTheSameStore(_ kind: TestedStore) async throws {
    let engine = Locked<(any StorageEngine)?>(nil)
    let left = Locked(20)
    let done = Locked(0)
    let recorder = EventRecorder { [origin] event in
      guard case .committed = event.kind, let engine = engine.withLock({ $0 }) else { return }
      let number = left.withLock { left in
        left -= 1
        return left
      }
      guard number >= 0 else { return }
      let batch = WriteBatch([.put("again", Data("\(number)".utf8))], durability: number % 2 == 0 ? .full : .relaxed)
      if number % 3 == 0 {
        Task {
          try await engine.commit(batch, from: origin)
          done.withLock { $0 += 1 }
        }
      } else {
        (engine as? any SynchronousEngine)?.submit(batch, from: origin) { _ in done.withLock { $0 += 1 } }
      }
    }
    let opened = try await kind.open(recorder, in: directory)
    engine.withLock { $0 = opened }
    try await opened.commit(WriteBatch([.put("a", Data())]), from: origin)
    for durability in [StoreDurability.full, .relaxed] {
      try await opened.commit(WriteBatch([.put("a", Data())], durability: durability), from: origin)
    }
    try await recorder.first { _ in done.withLock { $0 } == 20 }
    #expect(recorder.failures.isEmpty)
    engine.withLock { $0 = nil }
    try await opened.close()
  }

  // Requirement 5.7
  @Test func spansEnclosePhasesOfTheirCaller() async throws {
    let engine = try await TestedStore.sqlite.open(recorder, in: directory)
    let store = TypedStore(engine: engine)
    try await store.save(1, for: "n")
    await expectStorageError(.preconditionFailed) {
      try await engine.commit(WriteBatch([.require("n", nil), .put("n", Data())]), from: origin)
    }
    try await engine.close()
    let spans = recorder.spans
    #expect(spans.map(\.span.operation) == [.open, .commit, .commit])
    #expect(spans.allSatisfy { $0.hasEnded && $0.span.location == engine.description && $0.events.count == 1 })
    #expect(Set(spans.map(\.span.id)).count == 3)
    guard case .failed? = spans.last?.events.first?.kind else { throw TestFailure("\(spans)") }
  }

  @Test func aRepeatedTransactionIsTold() async throws {
    let engine = try await TestedStore.sqlite.open(recorder, in: directory)
    let store = TypedStore(engine: engine)
    let attempts = Locked(0)
    try await store.transaction { [origin] transaction in
      let count = try await transaction.load(Int.self, for: "n") ?? 0
      let attempt = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      if attempt == 1 { try await engine.commit(WriteBatch([.put("n", Data("7".utf8))]), from: origin) }
      try transaction.save(count + 1, for: "n")
    }
    #expect(try await store.load(Int.self, for: "n") == 8)
    let retries = recorder.all.compactMap { if case .retried(let retry) = $0.kind { retry } else { nil } }
    #expect(retries == [StoreEvent.Retry(.transaction, attempt: 1, code: .preconditionFailed)])
    let span = try #require(recorder.spans.first { $0.span.operation == .transaction })
    #expect(span.hasEnded && span.events.map(\.kind) == [.retried(retries[0])])
    try await engine.close()
  }

  @Test func aTransactionOverTablesIsACommit() async throws {
    var configuration = SQLiteEngine.Configuration()
    configuration.events = recorder.events
    let database = try await SQLiteDatabase.open(
      at: directory.path("shop.db"), migrations: [], configuration: configuration)
    let before = recorder.commits.count
    try await database.write { try $0.execute("CREATE TABLE sales (cents INTEGER)") }
    let id = TransactionID()
    try await database.write(transaction: id) { transaction in
      try transaction.execute("INSERT INTO sales VALUES (250)")
      try transaction.put("count", Data(count: 8))
    }
    try await database.read { _ in }
    let commits = recorder.commits.dropFirst(before)
    #expect(commits.last?.transaction == id && commits.last?.operations == 1 && commits.last?.bytes == 8)
    await #expect(throws: TestFailure.self) { try await database.write { _ in throw TestFailure("") } }
    #expect(recorder.failures.map(\.operation) == [.transaction] && recorder.failures.map(\.code) == [nil])
    try await database.close()
  }

  @Test func waitingForTheLockOfAnotherProcessIsTold() async throws {
    var configuration = SQLiteEngine.Configuration()
    configuration.events = recorder.events
    configuration.busyTimeout = 20
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    let holder = try HelperProcess(["hold-lock", engine.path])
    #expect(try holder.line() == "holding")
    await expectStorageError(.busy) { try await engine.commit(WriteBatch([.put("a", Data())]), from: origin) }
    holder.tell("go")
    #expect(holder.wait() == 0)
    let event = try await recorder.first { if case .retried = $0.kind { true } else { false } }
    guard case .retried(let retry) = event.kind else { throw TestFailure("\(event)") }
    #expect(retry.subject == .writeLock && retry.attempt > 0 && retry.code == .busy)
    #expect(recorder.failures.map(\.code) == [.busy])
    try await engine.commit(WriteBatch([.put("a", Data())]), from: origin)
    #expect(recorder.commits.count == 1)
    try await engine.close()
  }

  @Test(arguments: [TestedStore.sqlite, .file])
  func checkpointsAreToldWithTheNameOfTheStore(_ kind: TestedStore) async throws {
    let engine = try await kind.open(recorder, in: directory)
    // 4 MB of log make a checkpoint due. The journal of a store of files holds only system records.
    for round in 0..<20 {
      let operations = try (0..<10).map { number -> WriteBatch.Operation in
        let name = "\(round)/\(number)"
        let content = Data(count: 60_000)
        return kind == .sqlite ? .put(try KeyName(name), content) : .putRecord(try SystemRecord.Name(name), content)
      }
      let batch = WriteBatch(operations)
      try await engine.commit(batch, from: origin)
      if recorder.all.contains(where: { $0.checkpoint != nil }) { break }
    }
    let event = try await recorder.first { $0.checkpoint != nil }
    #expect((event.checkpoint?.pages ?? 0) > 100 && (event.checkpoint?.duration ?? .zero) > .zero)
    #expect(event.location == engine.description)
    try await engine.close()
  }

  @Test func lostCommitsAndEditsAreToldAtTheOpening() async throws {
    let path = directory.path("store.db")
    for number in 1...2 {
      let engine = try await TestedStore.sqlite.open(EventRecorder(), in: directory)
      try await engine.commit(WriteBatch([.put("a", Data("\(number)".utf8))]), from: origin)
      try await engine.close()
      if number == 1 { try FileManager.default.copyItem(atPath: path, toPath: path + "-old") }
    }
    let old = try Data(contentsOf: URL(fileURLWithPath: path + "-old"))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: old)
    try file.close()
    let engine = try await TestedStore.sqlite.open(recorder, in: directory)
    let loss = try await recorder.first { if case .availabilityChanged = $0.kind { true } else { false } }
    #expect(loss.description.contains("commits were lost") && loss.location == engine.description)
    try await engine.close()

    let files = try await TestedStore.file.open(recorder, in: directory)
    try await files.commit(WriteBatch([.put("a", Data("1".utf8))]), from: origin)
    try await files.close()
    try Data("edited".utf8).write(to: directory.url.appendingPathComponent("files/a"))
    let again = try await TestedStore.file.open(recorder, in: directory)
    let event = try await recorder.first { if case .recovered = $0.kind { true } else { false } }
    guard case .recovered(let report) = event.kind else { throw TestFailure("\(event)") }
    #expect(report.edited == 1 && event.location == again.description)
    // The edit itself is a commit of nobody.
    #expect(recorder.commits.count == 1)
    try await again.close()
  }
}

extension StoreEvent {
  fileprivate var checkpoint: Checkpoint? { if case .checkpointed(let checkpoint) = kind { checkpoint } else { nil } }
}
