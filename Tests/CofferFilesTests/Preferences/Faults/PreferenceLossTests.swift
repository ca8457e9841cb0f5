import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// A damaged file without an intact copy: the only kind of damage that makes reads throw.
@Suite(.serialized) struct PreferenceLossTests {
  private let garbage = Data("no property list, and nobody's backup".utf8)

  private func reported(_ fixture: PreferenceFixture) -> (
    Locked<[DamageReport]>, (inout SlotEngine.Configuration) -> Void
  ) {
    let reports = Locked<[DamageReport]>([])
    return (reports, { $0.onDamage = { report in reports.withLock { $0.append(report) } } })
  }

  private func whole(_ values: [String: String]) throws -> Data {
    try PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0)
  }

  /// Checks that the bytes are quarantined and the advice names their file.
  private func expectAdvice(_ error: StorageError?, _ fixture: PreferenceFixture) throws {
    let names = try fixture.names(in: "quarantine")
    #expect(names.count == 1)
    let name = try #require(names.first)
    let error = try #require(error)
    #expect(error.advice.contains("quarantine/\(name)") && error.message.contains(fixture.file), "\(error)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.control + "/quarantine/" + name)) == garbage)
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.file)) == garbage)
  }

  /// A file of another program that Coffer has never written.
  @Test func aForeignFileThatIsDamagedBeforeTheFirstUse() async throws {
    let fixture = try PreferenceFixture()
    try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
    try overwrite(fixture.file, garbage)
    for _ in 0..<2 { try expectAdvice(await expectPreferenceError(.damaged) { _ = try await fixture.open() }, fixture) }
    // The adapter opens without throwing; each of its methods throws the same error.
    let (reports, configure) = reported(fixture)
    var configuration = SlotEngine.Configuration()
    configure(&configuration)
    let adapter = try await fixture.use { [configuration] in
      UserDefaultsAdapter(suiteName: fixture.suite, configuration: configuration)
    }
    for _ in 0..<2 {
      try expectAdvice(await expectPreferenceError(.damaged) { _ = try await adapter.get("theme") }, fixture)
      try expectAdvice(await expectPreferenceError(.damaged) { try await adapter.set("x", for: "theme") }, fixture)
      try expectAdvice(await expectPreferenceError(.damaged) { _ = try await adapter.keys() }, fixture)
    }
    #expect(reports.withLock { $0.contains { $0.size == garbage.count } })
    // Restore a backup, as the advice says.
    try overwrite(fixture.file, whole(["theme": "dark"]))
    #expect(try await adapter.get("theme") == "dark")
    try await adapter.set("light", for: "theme")
    #expect(try fixture.texts() == ["theme": "light"])
    try await adapter.engine.close()
  }

  @Test func aSuiteThatWasOnlyReadAndIsDamagedWhileOpen() async throws {
    let fixture = try PreferenceFixture()
    try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
    try overwrite(fixture.file, whole(["theme": "dark"]))
    let (reports, configure) = reported(fixture)
    let engine = try await fixture.open(configure)
    #expect(try await engine.text("theme") == "dark")
    let heard = Heard(engine)
    try overwrite(fixture.file, garbage)
    let revision = engine.latestRevision
    for _ in 0..<2 {
      try expectAdvice(await expectPreferenceError(.damaged) { _ = try await engine.text("theme") }, fixture)
      try expectAdvice(await expectPreferenceError(.damaged) { _ = try await engine.text("absent") }, fixture)
      try expectAdvice(await expectPreferenceError(.damaged) { try await engine.put("theme", "x") }, fixture)
      try expectAdvice(
        await expectPreferenceError(.damaged) {
          var batch = WriteBatch()
          batch.clear(prefix: nil)
          try await engine.commit(batch, from: StoreOrigin())
        }, fixture)
    }
    #expect(reports.withLock { $0.map(\.size) } == [garbage.count])
    #expect(engine.latestRevision == revision && heard.changes == [])
    #expect(try fixture.names(in: "staged") == [])
    try await expectAvailability(engine) { $0 != .available }
    // Move the file away, as the advice says: its values are gone, and subscribers receive their removal.
    #expect(rename(fixture.file, fixture.outside("damaged")) == 0)
    try await expectAvailability(engine) { $0 == .available }
    try await heard.wait(for: "theme")
    #expect(heard.foreign == [["theme"]])
    #expect(try await engine.text("theme") == nil)
    try await engine.put("theme", "light")
    #expect(try fixture.texts() == ["theme": "light"])
    try await engine.close()
  }

  /// A damaged copy is not used.
  @Test func aDamagedCopyIsNone() async throws {
    let fixture = try PreferenceFixture()
    let first = try await fixture.open()
    try await first.put("theme", "dark")
    try await first.close()
    try overwrite(fixture.control + "/copy", garbage)
    try overwrite(fixture.file, garbage)
    try expectAdvice(await expectPreferenceError(.damaged) { _ = try await fixture.open() }, fixture)
    try overwrite(fixture.file, whole(["theme": "restored"]))
    let engine = try await fixture.open()
    #expect(try await engine.text("theme") == "restored")
    try await engine.close()
  }

  /// Waits until subscribers receive a matching availability.
  private func expectAvailability(
    _ engine: SlotEngine, _ isWanted: @escaping @Sendable (StoreAvailability) -> Bool
  ) async throws {
    let states = engine.availability()
    let waiting = Task<Bool, Never> {
      for await state in states where isWanted(state) { return true }
      return false
    }
    let hasCome = try await finish(waiting, within: .seconds(60))
    #expect(hasCome)
  }
}
