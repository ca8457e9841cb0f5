import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Three real processes, two handles in each, write one store: every commit is heard once by each handle, in order,
/// with its transaction and its key, and only the own ones as own.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct ChorusTests {
  private static let voices = 3

  /// Waits beside the threads that tasks share: others need them.
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

  @Test("Everybody hears everything", arguments: ["sqlite", "file", "prefs", "sealed"])
  func everybodyIsHeard(_ kind: String) async throws { try await sing(kind, total: 300) }

  @Test(
    "Everybody hears 10,000 commits: prove", .enabled(if: isProving, "a long proof: ./run prove"),
    arguments: ["sqlite", "file", "prefs", "sealed"])
  func prove(_ kind: String) async throws { try await sing(kind, total: 9_999) }

  @Test("Everybody hears everything in a keyring", .enabled(if: PrivateKeyring.isInstalled, "\(PrivateKeyring.whyNot)"))
  func everybodyIsHeardInAKeyring() async throws {
    let keyring = try PrivateKeyring()
    try await sing("keychain", total: 60, [("COFFER_TEST_BUS", keyring.address)])
  }

  @Test(
    "Everybody hears 1,000 commits in a keyring: prove",
    .enabled(if: isProving && PrivateKeyring.isInstalled, "a long proof: ./run prove; or \(PrivateKeyring.whyNot)"))
  func proveInAKeyring() async throws {
    let keyring = try PrivateKeyring()
    try await sing("keychain", total: 999, [("COFFER_TEST_BUS", keyring.address)])
  }
}
