import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// The state of stores whose device has lost power at any moment (``PowerLoss``): every acknowledged value is there,
/// later commits are whole or absent, and nothing that is not lost is reported.
@Suite(.blocking, .serialized, .enabled(if: RecordingLibrary.path != nil, "no C compiler")) struct PowerLossTests {
  private static let kinds = [
    "sqlite", "files", "preferences", "sealed", "encrypted-sqlite", "encrypted-files", "migration", "encrypt", "rotate",
    "rekey", "backup", "restore", "expiry", "coffer-set", "coffer-cp", "coffer-encrypt", "coffer-restore",
  ]

  private let workers = isProving ? min(8, ProcessInfo.processInfo.activeProcessorCount) : 1

  @Test(arguments: kinds) func nothingAcknowledgedIsLost(_ kind: String) throws {
    // A state costs 10 ms in a debug build: these are more than 500 of all kinds.
    let outcome = try Sweep(lossesOf: kind).run(isProving ? 20_000 : 42, workers: workers)
    #expect(outcome.failures.isEmpty, "\(outcome)")
  }

  /// A program without a sync, or with a late one, loses something, unless the table of `NeedlessSync` says why not.
  @Test(arguments: isProving ? kinds : ["sqlite", "files"]) func missingSyncsAreNoticed(_ kind: String) throws {
    let outcome = try Sweep(lossesOf: kind, isBroken: true).run(isProving ? 1_000 : 300, workers: workers)
    #expect(outcome.failures.isEmpty, "\(outcome)")
    #expect(outcome.summary.contains { !$0.contains(" 0 noticed") })
  }
}
