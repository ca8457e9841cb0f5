import CofferTestSupport
import CofferTestTraits
import Testing

/// The state of stores whose device has lost power at any moment (``PowerLoss``): every acknowledged value is there,
/// later commits are whole or absent, and nothing that is not lost is reported.
@Suite(.blocking, .serialized, .enabled(if: RecordingLibrary.path != nil, "no C compiler")) struct PowerLossTests {
  @Test(arguments: [
    "sqlite", "files", "preferences", "sealed", "encrypted-sqlite", "encrypted-files", "migration", "encrypt", "rotate",
    "rekey", "backup", "restore",
  ])
  func nothingAcknowledgedIsLost(_ kind: String) throws {
    let outcome = try Sweep(lossesOf: kind).run(isProving ? 20_000 : 500)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }
}
