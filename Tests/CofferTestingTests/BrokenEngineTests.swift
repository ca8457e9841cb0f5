import CofferCore
import CofferTesting
import Foundation
import Testing

/// An engine with one defect and the name of the check that must find it.
struct Defect: Sendable, CustomTestStringConvertible {
  typealias Open = @Sendable (StorageConformance.Location) async throws -> any StorageEngine

  let name: String
  let check: String
  /// Whether the check fails because a call throws an unexpected error, rather than by the result of a call.
  let isThrown: Bool
  let handles: StorageConformance.Handles
  let open: Open

  var testDescription: String { name }

  init(
    _ name: String, failing check: String, byThrowing isThrown: Bool = false,
    handles: StorageConformance.Handles = .shareEngine, open: @escaping Open
  ) {
    self.name = name
    self.check = check
    self.isThrown = isThrown
    self.handles = handles
    self.open = open
  }

  /// Creates a defect in a wrapper around a memory engine, which `bend` modifies.
  init(
    _ name: String, failing check: String, byThrowing isThrown: Bool = false,
    _ bend: @escaping @Sendable (inout Wrapper) -> Void
  ) {
    self.init(name, failing: check, byThrowing: isThrown) { location in
      var wrapper = Wrapper(base: MemoryEngine(maximumValueSize: location.maximumValueSize ?? 1 << 30))
      bend(&wrapper)
      return wrapper
    }
  }

  /// Creates a defect in an engine whose second handle is opened separately.
  init(
    _ name: String, failing check: String, byThrowing isThrown: Bool = false,
    apart open: @escaping @Sendable (MemoryStores, StorageConformance.Location) -> any StorageEngine
  ) {
    let stores = MemoryStores()
    self.init(name, failing: check, byThrowing: isThrown, handles: .openAgain) { open(stores, $0) }
  }
}

@Suite("The conformance suite finds defects")
struct BrokenEngineTests {
  @Test("Each defect fails its check", arguments: Defect.all)
  func finds(_ defect: Defect) async throws {
    let conformance = StorageConformance(
      name: defect.name, options: .init(handles: defect.handles, deadline: .seconds(15)), open: defect.open)
    let failure = try await #require(throws: StorageConformance.Failure.self) {
      try await conformance.run(named: defect.check)
    }
    #expect(failure.check == defect.check)
    #expect(failure.sentence.hasPrefix("Expected"), "\(failure)")
    // An expectation of the check must find it, not an unrelated error.
    #expect(failure.sentence.hasPrefix("Expected no error") == defect.isThrown, "\(failure)")
    #expect(!failure.sentence.contains("the check to end"), "\(failure)")
    #expect(failure.line > 0)
  }

  @Test("A call that never returns fails its check")
  func hangs() async throws {
    let conformance = StorageConformance(name: "hanging", options: .init(deadline: .milliseconds(50))) { _ in
      var wrapper = Wrapper(base: MemoryEngine())
      // It also ignores cancellation. A checked continuation would report that it is never resumed.
      wrapper.onCommit = { _, _, _ in await withUnsafeContinuation { (_: UnsafeContinuation<StoreCommit, Never>) in } }
      return wrapper
    }
    let failure = try await #require(throws: StorageConformance.Failure.self) {
      try await conformance.run(named: "an empty value is kept, and is not absent")
    }
    #expect(failure.sentence.contains("within"), "\(failure)")
  }

  @Test("An adapter that keys by String merges Unicode forms")
  func stringKeys() async throws {
    actor Naive: StorageAdapter {
      var values: [String: Data] = [:]
      func read(key: String) async throws -> Data? { values[key] }
      func write(key: String, data: Data) async throws { values[key] = data }
      func delete(key: String) async throws { values[key] = nil }
      func exists(key: String) async -> Bool { values[key] != nil }
    }
    let conformance = StorageConformance(name: "naive") { _ in Naive() }
    let report = try await conformance.report()
    let failed = report.failures.map(\.check)
    #expect(failed.contains("composed and decomposed forms of a word are distinct keys"))
    #expect(failed.contains("unusual keys are valid and distinct"))
    #expect(failed.allSatisfy { $0.contains("unusual key") || $0.contains("composed") }, "\(report)")
  }
}
