import CofferCore
import CofferTesting
import Foundation
import Testing

/// A third-party adapter, as in the example of `StorageAdapter`.
private actor DictionaryAdapter: StorageAdapter {
  private var values: [Data: Data] = [:]
  func read(key: String) async throws -> Data? { values[Data(key.utf8)] }
  func write(key: String, data: Data) async throws { values[Data(key.utf8)] = data }
  func delete(key: String) async throws { values[Data(key.utf8)] = nil }
  func exists(key: String) async -> Bool { values[Data(key.utf8)] != nil }
}

@Suite("Engines conform to the storage contract")
struct ConformanceTests {
  static let memory = StorageConformance(name: "memory", options: .init(commitsToOutrunJournal: 64)) { location in
    MemoryEngine(maximumValueSize: location.maximumValueSize ?? 16 << 20, journalCapacity: 64)
  }
  static let faults = StorageConformance(name: "faults", options: .init(commitsToOutrunJournal: 64)) { location in
    FaultInjectingEngine(
      MemoryEngine(maximumValueSize: location.maximumValueSize ?? 16 << 20, journalCapacity: 64))
  }
  static let adapter = StorageConformance(name: "adapter") { _ in DictionaryAdapter() }
  static let memoryAdapter = StorageConformance(name: "memory adapter") { _ in MemoryAdapter() }

  static func handles(_ stores: MemoryStores = MemoryStores()) -> StorageConformance {
    StorageConformance(
      name: "handles", options: .init(handles: .openAgain, commitsToOutrunJournal: 64)
    ) { location in HandleEngine(stores.engine(at: location)) }
  }

  // Requirements 0.28, 0.42
  @Test("MemoryEngine", arguments: StorageConformance.checks)
  func memory(_ check: StorageConformance.Check) async throws { try await Self.memory.run(check) }

  @Test("FaultInjectingEngine without faults", arguments: StorageConformance.checks)
  func faults(_ check: StorageConformance.Check) async throws { try await Self.faults.run(check) }

  @Test("Two nested decorators", arguments: StorageConformance.checks, [false, true])
  func twoDeep(_ check: StorageConformance.Check, _ isReversed: Bool) async throws {
    try await (isReversed ? Self.memory.twoDeepReversed : Self.memory.twoDeep).run(check)
  }

  @Test("A decorated four-method adapter", arguments: StorageConformance.checks)
  func decoratedAdapter(_ check: StorageConformance.Check) async throws { try await Self.adapter.twoDeep.run(check) }

  // Requirement 1.9
  @Test("A four-method adapter", arguments: StorageConformance.checks)
  func adapter(_ check: StorageConformance.Check) async throws { try await Self.adapter.run(check) }

  // Requirement 1.17
  @Test("MemoryAdapter through its four methods", arguments: StorageConformance.checks)
  func memoryAdapter(_ check: StorageConformance.Check) async throws { try await Self.memoryAdapter.run(check) }

  @Test("Persistent handles that are opened separately", arguments: StorageConformance.checks)
  func handles(_ check: StorageConformance.Check) async throws { try await Self.handles().run(check) }

  /// Returns a suite for a memory engine that `cut` can make unreachable.
  private static func interrupted(_ cut: @escaping @Sendable (FaultInjectingEngine, Bool) -> Void) -> StorageConformance
  {
    let engines = Locked<[UUID: FaultInjectingEngine]>([:])
    return StorageConformance(
      name: "interrupted",
      options: .init { location, isCut in
        engines.withLock { $0[location.id] }.map { cut($0, isCut) }
      }
    ) { location in
      let engine = FaultInjectingEngine(MemoryEngine())
      engines.withLock { $0[location.id] = engine }
      return engine
    }
  }

  private static let away = StorageError(.unavailable, "The store is unreachable.")

  @Test("An engine that becomes unreachable", arguments: StorageConformance.checks, [false, true])
  func interrupted(_ check: StorageConformance.Check, _ isDecorated: Bool) async throws {
    let conformance = Self.interrupted { engine, isCut in
      guard isCut else { return engine.removeFaults() }
      for call in FaultInjectingEngine.Call.allCases { engine.inject(.fail(Self.away), into: call, times: nil) }
    }
    try await (isDecorated ? conformance.twoDeep : conformance).run(check)
  }

  @Test("Wrong behavior of an unreachable engine is found")
  func brokenInterruptions() async throws {
    let silent = Self.interrupted { _, _ in }  // It succeeds although it should be unreachable.
    let twice = Self.interrupted { engine, isCut in
      guard isCut else { return engine.removeFaults() }
      engine.inject(.failAfter(Self.away), into: .commit, times: nil)  // It commits, then throws `unavailable`.
    }
    for name in [
      "while a store is unreachable, reads throw unavailable",
      "while a store is unreachable, listings throw unavailable",
    ] {
      await #expect(throws: StorageConformance.Failure.self) { try await silent.run(named: name) }
    }
    for conformance in [silent, twice] {
      await #expect(throws: StorageConformance.Failure.self) {
        try await conformance.run(named: "after an interruption, each commit is delivered once and in order")
      }
    }
  }

  @Test("A decorator that forwards every call", arguments: StorageConformance.checks)
  func wrapper(_ check: StorageConformance.Check) async throws {
    try await StorageConformance(name: "wrapper") { location in
      Wrapper(base: MemoryEngine(maximumValueSize: location.maximumValueSize ?? 16 << 20))
    }.run(check)
  }
}

@Suite("A report has the outcome of every check")
struct ReportTests {
  @Test("names are unique and identify their check")
  func names() throws {
    let checks = StorageConformance.checks
    #expect(Set(checks).count == checks.count)
    for check in checks { #expect(StorageConformance.check(named: check.name) == check) }
  }

  @Test("a correct engine passes, and every skip has a reason")
  func correct() async throws {
    let report = try await ConformanceTests.memory.run()
    #expect(report.failures.isEmpty)
    #expect(report.passed.count + report.skipped.count == StorageConformance.checks.count)
    #expect(report.skipped.allSatisfy { !$0.reason.isEmpty })
    func reason(_ name: String) -> String? { report.skipped.first { $0.check.name == name }?.reason }
    #expect(reason("values survive closing") == "The engine does not declare persistence.")
    #expect(
      reason("without listing, clear is refused") == "The engine declares listing, so there is nothing to refuse.")
    #expect(reason("an adapter's exists agrees with its reads") == "The subject is an engine.")
    #expect(report.description.contains("0 failed"))
  }

  @Test("separately opened handles skip only refusals, the adapter's check, power loss and interruptions")
  func handles() async throws {
    let report = try await ConformanceTests.handles().run()
    let others = report.skipped.map(\.check.name).filter {
      !$0.hasPrefix("without ") && !$0.hasPrefix("with secrecy") && !$0.hasPrefix("with propertyLists")
    }
    let interruptions = [
      "while a store is unreachable, reads throw unavailable",
      "while a store is unreachable, listings throw unavailable",
      "after an interruption, each commit is delivered once and in order",
    ]
    #expect(
      Set(others)
        == Set(
          ["full commits survive power loss", "an adapter's exists agrees with its reads"] + interruptions))
  }

  @Test("an adapter is tested for its features and for refusing the rest")
  func adapter() async throws {
    let report = try await ConformanceTests.adapter.run()
    let passed = report.passed.map(\.name)
    for name in [
      "without atomicBatches, a batch of several operations is refused", "without preconditions, require is refused",
      "without snapshots, withSnapshot is refused", "without listing, clear is refused",
      "without replay, an earlier position yields commits or a reload",
      "without revisions, entries are at revision zero", "an adapter's exists agrees with its reads",
      "unusual keys are valid and distinct", "64 concurrent writers all succeed, with distinct revisions",
    ] {
      #expect(passed.contains(name), "\(name)")
    }
  }

  @Test("the check of the journal's end is skipped if its length is unknown")
  func journalLength() async throws {
    let conformance = StorageConformance(name: "memory") { _ in MemoryEngine() }
    let outcome = try await conformance.run(named: "a subscriber behind the journal receives a reload")
    #expect(outcome == .skipped(reason: "Options.commitsToOutrunJournal is nil."))
  }

  @Test("the check of the limit is skipped if the limit is too large")
  func limit() async throws {
    let conformance = StorageConformance(name: "memory") { _ in MemoryEngine() }
    let outcome = try await conformance.run(named: "a batch with a value over the limit is refused as a whole")
    guard case .skipped(let reason) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(reason.contains("Location.maximumValueSize"))
  }

  @Test("an unknown name is a failure")
  func unknown() async throws {
    await #expect(throws: StorageConformance.Failure.self) {
      try await ConformanceTests.memory.run(named: "no such check")
    }
  }

  @Test("run throws every failure, each with its check, sentence and line")
  func failures() async throws {
    let conformance = StorageConformance(name: "shut") { _ in
      let engine = MemoryEngine()
      try await engine.close()
      return engine
    }
    let error = try await #require(throws: StorageConformance.Failures.self) { try await conformance.run() }
    #expect(error.failures.count > 10)
    #expect(error.failures.allSatisfy { $0.line > 0 && $0.sentence.hasPrefix("Expected") && $0.subject == "shut" })
    #expect(error.description.contains("an empty value is kept, and is not absent"))
  }
}
