import CofferTestSupport
import CofferTestTraits
import Testing

/// What a store answers of which one file was injured: ``Sweep``.
@Suite(.blocking, .serialized) struct FileSweepTests {
  @Test func everyInjuryIsTold() throws {
    let outcome = try Sweep("files").run(2_000)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatEveryInjuryIsTold() throws {
    let outcome = try Sweep("files").run(100_000, workers: 2)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  /// A sweep that finds nothing must be able to find something.
  @Test func aHomeWithoutChecksIsFound() throws {
    let outcome = try Sweep("naked").run(100)
    #expect(outcome.failures.contains { $0.contains("bit") })
    #expect(outcome.failures.contains { $0.contains("gone") && $0.contains("absent") })
  }
}
