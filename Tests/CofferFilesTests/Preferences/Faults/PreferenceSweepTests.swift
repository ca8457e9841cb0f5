import CofferTestSupport
import CofferTestTraits
import Testing

/// Reads from stores with one damaged file each: ``Sweep``.
@Suite(.blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler")) struct PreferenceSweepTests {
  // Requirement 1.56
  @Test func everyInjuryIsTold() throws {
    let outcome = try Sweep("preferences").run(2_000)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  @Test(.enabled(if: isProving, "long: ./run prove"))
  func proveThatEveryInjuryIsTold() throws {
    let outcome = try Sweep("preferences").run(100_000, workers: 2)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }
}
