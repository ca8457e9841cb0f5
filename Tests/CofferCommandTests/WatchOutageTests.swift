import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// `coffer watch` on a real keyring that is locked, hung, killed and restarted.
@Suite(
  "watch during outages", .blocking, .serialized,
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct WatchOutageTests {
  let sandbox: Sandbox
  let keyring: PrivateKeyring

  init() throws {
    sandbox = try Sandbox()
    keyring = try PrivateKeyring(password: "pw")
  }

  private var store: [(name: String, value: String?)] {
    keyring.environment.map { (name: $0.0, value: $0.1) } + [(name: "COFFER_STORE", value: "keychain:shop")]
  }

  private func set(_ key: String) async throws {
    try await eventually("setting \(key)") {
      try await sandbox.bash("printf s3cret | coffer set \(key) -", environment: store).status == 0
    }
  }

  private static func count(_ event: String, in output: String) -> Int {
    output.components(separatedBy: #""event":"\#(event)""#).count - 1
  }

  // Requirement 5.11
  @Test("It tells an outage, waits for its end, and misses no commit")
  func outages() async throws {
    try await set("a")
    try await set("b")
    try keyring.lock()
    let watch = try sandbox.startCoffer("watch", "--since", "0", "--count", "4", "--json", environment: store)
    try await eventually("the lock") { try watch.output().contains(#""event":"unavailable""#) }
    #expect(try !watch.output().contains("put"))
    try keyring.unlock("pw")
    try await eventually("the first commits") { try watch.output().contains(#""key":"b""#) }
    // A read can succeed before the end of the outage is told.
    try await eventually("the unlocked keyring") { try Self.count("available", in: watch.output()) == 1 }
    keyring.stopBus()
    keyring.stopDaemon()
    try await eventually("the killed keyring") { try Self.count("unavailable", in: watch.output()) == 2 }
    try keyring.startBus()
    try keyring.startDaemon(password: "pw")
    try await set("c")
    try await eventually("the commit after the restart") { try watch.output().contains(#""key":"c""#) }
    try await eventually("the restarted keyring") { try Self.count("available", in: watch.output()) == 2 }
    try await set("d")
    let ended = try await watch.ended()
    let lines = try ended.jsonLines()
    #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended)")
    #expect(lines.compactMap { $0["key"] as? String } == ["a", "b", "c", "d"], "\(ended.text)")
    let states = lines.compactMap { $0["event"] as? String }.filter { $0 != "put" }
    #expect(states.prefix(4) == ["unavailable", "available", "unavailable", "available"], "\(states)")
    #expect((lines[0]["message"] as? String)?.contains("locked") == true, "\(lines[0])")
  }

  // Requirement 5.11
  @Test("A keyring that does not answer is told on standard error, and its commits follow once it does")
  func hung() async throws {
    try await set("a")
    keyring.pause()
    defer { keyring.resume() }
    let watch = try sandbox.startCoffer("watch", "--since", "0", "--count", "1", environment: store)
    try await eventually("the outage") { try watch.errors().contains("The store is unavailable: ") }
    keyring.resume()
    let ended = try await watch.ended()
    #expect(ended.status == 0 && ended.lines.count == 1 && ended.text.hasSuffix("  a\n"), "\(ended)")
  }
}
