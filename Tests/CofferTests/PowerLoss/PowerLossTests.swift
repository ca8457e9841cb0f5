import CofferTestSupport
import CofferTestTraits
import Testing

/// The state of stores whose device has lost power at any moment (``PowerLoss``): every acknowledged value is there,
/// later commits are whole or absent, and nothing that is not lost is reported.
@Suite(.blocking, .serialized, .enabled(if: RecordingLibrary.path != nil, "no C compiler")) struct PowerLossTests {
  private static let kinds = [
    "sqlite", "files", "preferences", "sealed", "encrypted-sqlite", "encrypted-files", "migration", "encrypt", "rotate",
    "rekey", "backup", "restore",
  ]

  @Test(arguments: kinds) func nothingAcknowledgedIsLost(_ kind: String) throws {
    // A state costs 30 ms in a debug build: these are 500 of all kinds.
    let outcome = try Sweep(lossesOf: kind).run(isProving ? 20_000 : 42)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  @Test(.enabled(if: isProving, "long: ./run prove"), arguments: kinds)
  func missingSyncsAreNoticed(_ kind: String) throws {
    let outcome = try Sweep(lossesOf: kind, isBroken: true).run(1_000)
    #expect(outcome.failures.isEmpty && !outcome.summary.contains { $0.hasPrefix("missed 0 of 0") }, "\(outcome)")
  }
}
