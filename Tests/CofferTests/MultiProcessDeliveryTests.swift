import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Three processes, each with two open engines, write one store: every engine delivers every commit once, in order,
/// with its transaction and its key, and marks only its own commits as own.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct MultiProcessDeliveryTests {
  private static let voices = 3

  private func sing(_ store: TestedStore, total: Int) async throws {
    let directory = try TemporaryDirectory()
    // A keyring writes its file three times for each commit.
    let count = (store == .keychain ? total / 5 : total) / Self.voices
    let environment = try await store.environment()
    let helpers = try (1...Self.voices).map { voice in
      try HelperProcess(
        ["sing", directory.url.path, store.rawValue, "\(voice)", "\(Self.voices)", "\(count)"],
        environment: environment)
    }
    for helper in helpers { try #require(try helper.line() == "ready") }
    for helper in helpers { helper.tell("go") }
    for helper in helpers {
      let heard = "heard \(count * Self.voices)"
      #expect(try helper.lines(within: 300_000) == ["sung", heard, heard], "\(store)")
      #expect(helper.wait() == 0)
    }
  }

  private static let stores = TestedStore.all.filter { $0 != .memory }

  // Requirements 0.6, 0.36
  @Test("Every process receives every commit", arguments: stores)
  func everybodyIsHeard(_ store: TestedStore) async throws { try await sing(store, total: 300) }

  @Test(
    "Every process receives 10,000 commits: prove", .enabled(if: isProving, "a long test: ./run prove"),
    arguments: stores)
  func prove(_ store: TestedStore) async throws { try await sing(store, total: 9_999) }
}
