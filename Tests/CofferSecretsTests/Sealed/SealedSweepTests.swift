import CofferTestSupport
import CofferTestTraits
import Testing

/// The behavior of a store of which one file was damaged: ``Sweep``.
@Suite(.blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler")) struct SealedSweepTests {
  // Requirement 1.56
  @Test func everyInjuryIsTold() throws {
    let outcome = try Sweep("sealed").run(2_000)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatEveryInjuryIsTold() throws {
    let outcome = try Sweep("sealed").run(100_000, workers: 2)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }
}
