import CofferTestSupport
import Testing

/// Restoring a backup restores the values and the library's own records, both or neither.
@Suite(.serialized) struct PreferenceRestoreTests {
  private func subject() throws -> RestoreSubject {
    let subject = try PreferenceFixture()
    return RestoreSubject(
      open: { try await subject.open() }, outside: subject.outside,
      restore: { try subject.run("prefs-restore", $0, "\($1)") })
  }

  @Test func recordsComeBackWithTheValues() async throws {
    let states = try await RestoreScenario.thereAndBack(in: subject())
    #expect(states == [RestoreScenario.old, RestoreScenario.new, RestoreScenario.old])
  }

  /// Kills the process before each step in turn, until it completes.
  @Test func aKilledRestorationLeavesTheOldStateOrTheNew() async throws {
    let found = try await RestoreScenario.afterKills(in: subject)
    #expect(found.count > 5 && found.first == RestoreScenario.new && found.last == RestoreScenario.old, "\(found)")
    #expect(found.allSatisfy { $0 == RestoreScenario.old || $0 == RestoreScenario.new }, "\(found)")
  }
}
