import CofferTestSupport
import Testing

/// Backups bring back values and the library's own records, both or neither.
@Suite(.serialized) struct PreferenceRestoreTests {
  private func home() throws -> RestoreHome {
    let home = try ConfigHome()
    return RestoreHome(
      open: { try await home.open() }, outside: home.outside,
      restore: { try home.run("prefs-restore", $0, "\($1)") })
  }

  @Test func recordsComeBackWithTheValues() async throws {
    let states = try await RestoreScenario.thereAndBack(in: home())
    #expect(states == [RestoreScenario.old, RestoreScenario.new, RestoreScenario.old])
  }

  /// Killed in front of each step, until it ends by itself.
  @Test func aKilledRestorationLeavesTheOldStateOrTheNew() async throws {
    let found = try await RestoreScenario.afterKills(in: home)
    #expect(found.count > 5 && found.first == RestoreScenario.new && found.last == RestoreScenario.old, "\(found)")
    #expect(found.allSatisfy { $0 == RestoreScenario.old || $0 == RestoreScenario.new }, "\(found)")
  }
}
