import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Tests with more snapshots than connections: later callers wait in a queue.
@Suite(.serialized) struct ManyReadersTests {
  private static let lent = 64
  private let origin = StoreOrigin()

  /// A gate that suspends tasks until it is opened, and records their arrival.
  private actor Gate {
    private(set) var arrived: [Int] = []
    private var isOpen = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func pass(_ number: Int) async {
      arrived.append(number)
      if !isOpen { await withCheckedContinuation { waiters.append($0) } }
    }

    func open() {
      isOpen = true
      for waiter in waiters { waiter.resume() }
      waiters = []
    }
  }

  private func store(commits: Int = 1) async throws -> (TemporaryDirectory, SQLiteEngine) {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.journalRetention = 100_000
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    for index in 0..<commits {
      try await engine.commit(
        WriteBatch([.put(KeyName("k"), Data("\(index)".utf8))], durability: .relaxed), from: origin)
    }
    return (directory, engine)
  }

  /// Starts tasks that hold all readers until the gate opens.
  private func holders(_ engine: SQLiteEngine, _ gate: Gate) async throws -> [Task<Void, any Error>] {
    let tasks = (0..<Self.lent).map { number in
      Task { try await engine.withSnapshot { _ in await gate.pass(number) } }
    }
    try await eventually("all readers are held") { await gate.arrived.count == Self.lent }
    return tasks
  }

  @Test func whoComesLaterWaitsInLineAndIsServedInOrder() async throws {
    let (directory, engine) = try await store()
    defer { withExtendedLifetime(directory) {} }
    let gate = Gate()
    let held = try await holders(engine, gate)
    let served = Locked<[Int]>([])
    var waiting: [Task<Void, any Error>] = []
    for number in 0..<150 {
      waiting.append(Task { try await engine.withSnapshot { _ in served.withLock { $0.append(number) } } })
      try await eventually("the next one waits") { engine.waitingSnapshots == number + 1 }
    }
    // Reads of a single key and of the journal do not wait in the queue.
    #expect(try await engine.entry(KeyName("k")) != nil)
    #expect(engine.recentCommits(after: .zero)?.count == 1)
    await gate.open()
    for task in held + waiting { try await task.value }
    // They are admitted in order, but 64 run at once, and one that is delayed is overtaken by any number of later ones.
    let numbers = served.withLock { $0 }
    for (index, number) in numbers.enumerated() {
      let overtaken = number - numbers[..<index].count { $0 < number }
      #expect(overtaken < Self.lent)
    }
    #expect(engine.waitingSnapshots == 0)
    try await engine.close()
  }

  @Test func aCancelledWaiterLeavesTheLine() async throws {
    let (directory, engine) = try await store()
    defer { withExtendedLifetime(directory) {} }
    let gate = Gate()
    let held = try await holders(engine, gate)
    let waiting = (0..<20).map { _ in Task { try await engine.withSnapshot { $0.revision } } }
    try await eventually("the others wait") { engine.waitingSnapshots == 20 }
    for (index, task) in waiting.enumerated() where index.isMultiple(of: 2) {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(engine.waitingSnapshots == 10)
    await gate.open()
    for (index, task) in waiting.enumerated() where !index.isMultiple(of: 2) {
      #expect(try await task.value == StoreRevision(1))
    }
    for task in held { try await task.value }
    try await engine.close()
  }

  @Test func whoWaitsIsToldThatTheStoreWasClosed() async throws {
    let (directory, engine) = try await store()
    defer { withExtendedLifetime(directory) {} }
    let gate = Gate()
    let held = try await holders(engine, gate)
    let waiting = (0..<5).map { _ in Task { try await engine.withSnapshot { $0.revision } } }
    try await eventually("the others wait") { engine.waitingSnapshots == 5 }
    try await engine.close()
    for task in waiting {
      let error = await #expect(throws: StorageError.self) { try await task.value }
      #expect(error?.code == .closed)
    }
    await gate.open()
    for task in held { try await task.value }
  }

  /// All readers are held by snapshots whose closures read further, in every way there is.
  @Test func readsInsideOfSnapshotsNeverWaitForEachOther() async throws {
    let (directory, engine) = try await store(commits: 5_000)
    defer { withExtendedLifetime(directory) {} }
    let database = SQLiteDatabase(engine: engine)
    let gate = Gate()
    let tasks = (0..<3 * Self.lent).map { number in
      Task {
        try await engine.withSnapshot { outer in
          await gate.pass(number)
          let revision = outer.revision
          #expect(try await engine.entry(KeyName("k"))?.revision == revision)
          try await engine.withSnapshot { inner in
            #expect(inner.revision == revision)
            try await engine.withSnapshot { innermost in #expect(innermost.revision == revision) }
          }
          let count = try await database.read { try $0.query("SELECT count(*) FROM coffer_journal") { $0.integer(0) } }
          #expect(count == [5_000])
          // Child tasks and unstructured tasks inherit the depth.
          async let child = engine.withSnapshot { $0.revision }
          #expect(try await child == revision)
          #expect(try await Task { try await engine.withSnapshot { $0.revision } }.value == revision)
          // The oldest commits are in the journal only.
          var changes = engine.changes(since: .zero).makeAsyncIterator()
          guard case .commit(let first)? = await changes.next() else { throw TestFailure("received a reload") }
          #expect(first.revision == StoreRevision(1))
        }
      }
    }
    try await eventually("all readers are held") { await gate.arrived.count >= Self.lent }
    await gate.open()
    for task in tasks { try await task.value }
    try await engine.close()
  }

  /// Snapshots of one store inside snapshots of another, in both directions at once.
  @Test func twoStoresDoNotWaitForEachOther() async throws {
    let (directory, first) = try await store()
    let (other, second) = try await store()
    defer { withExtendedLifetime((directory, other)) {} }
    let gate = Gate()
    let tasks = (0..<2 * Self.lent).map { number in
      Task {
        let (outer, inner) = number.isMultiple(of: 2) ? (first, second) : (second, first)
        return try await outer.withSnapshot { _ in
          await gate.pass(number)
          return try await inner.withSnapshot { $0.revision }
        }
      }
    }
    try await eventually("all readers are held") { await gate.arrived.count == 2 * Self.lent }
    await gate.open()
    for task in tasks { #expect(try await task.value == StoreRevision(1)) }
    try await first.close()
    try await second.close()
  }
}
