import CofferTestSupport
import CofferTestTraits
import Testing

/// Reads from stores with one damaged file each: ``Sweep``.
@Suite(.blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler")) struct FileSweepTests {
  // Requirement 1.56
  @Test func everyInjuryIsTold() throws {
    let outcome = try Sweep("files").run(2_000)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatEveryInjuryIsTold() throws {
    let outcome = try Sweep("files").run(100_000, workers: 2)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  /// Shows that the sweep can fail: it finds the damage in a store without checksums.
  @Test func aStoreWithoutChecksIsFound() throws {
    let outcome = try Sweep("naked").run(100)
    #expect(outcome.failures.contains { $0.contains("bit") })
    #expect(outcome.failures.contains { $0.contains("gone") && $0.contains("absent") })
  }
}
