import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Three processes, each with two open engines, write one store: every engine delivers every commit once, in order,
/// with its transaction and its key, and marks only its own commits as own.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct MultiProcessDeliveryTests {
  private static let voices = 3

  /// Runs the blocking test on a thread of a dispatch queue, outside of the cooperative pool.
  private func sing(_ kind: String, total: Int, _ environment: [(String, String)] = []) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      DispatchQueue.global().async { continuation.resume(with: Result { try singNow(kind, total, environment) }) }
    }
  }

  private func singNow(_ kind: String, _ total: Int, _ environment: [(String, String)]) throws {
    let directory = try TemporaryDirectory()
    let count = total / Self.voices
    let helpers = try (1...Self.voices).map { voice in
      try HelperProcess(
        ["sing", directory.url.path, kind, "\(voice)", "\(Self.voices)", "\(count)"], environment: environment)
    }
    for helper in helpers { #expect(try helper.line() == "ready") }
    for helper in helpers { helper.tell("go") }
    for helper in helpers {
      let heard = "heard \(count * Self.voices)"
      #expect(try helper.lines(within: 300_000) == ["sung", heard, heard], "\(kind)")
      #expect(helper.wait() == 0)
    }
  }

  // Requirements 0.6, 0.36
  @Test("Every process receives every commit", arguments: ["sqlite", "file", "prefs", "sealed"])
  func everybodyIsHeard(_ kind: String) async throws { try await sing(kind, total: 300) }

  @Test(
    "Every process receives 10,000 commits: prove", .enabled(if: isProving, "a long test: ./run prove"),
    arguments: ["sqlite", "file", "prefs", "sealed"])
  func prove(_ kind: String) async throws { try await sing(kind, total: 9_999) }

  // Requirement 0.36
  @Test(
    "Every process receives every commit of a keyring",
    .enabled(if: PrivateKeyring.isInstalled, "\(PrivateKeyring.unavailabilityReason)"))
  func everybodyIsHeardInAKeyring() async throws {
    let keyring = try PrivateKeyring()
    try await sing("keychain", total: 60, [("COFFER_TEST_BUS", keyring.address)])
  }

  @Test(
    "Every process receives 1,000 commits of a keyring: prove",
    .enabled(
      if: isProving && PrivateKeyring.isInstalled, "a long test: ./run prove; or \(PrivateKeyring.unavailabilityReason)"
    ))
  func proveInAKeyring() async throws {
    let keyring = try PrivateKeyring()
    try await sing("keychain", total: 999, [("COFFER_TEST_BUS", keyring.address)])
  }
}
