import CofferCore
import CofferLocks
import CofferPreferences
import CofferSQLite
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

/// A file that makes no sense, and nothing that could take its place: the one kind of damage that readers hear of.
@Suite(.serialized) struct PreferenceLossTests {
  private let garbage = Data("no property list, and nobody's backup".utf8)

  private func reported(_ home: ConfigHome) -> (Locked<[DamageReport]>, (inout SlotConfiguration) -> Void) {
    let reports = Locked<[DamageReport]>([])
    return (reports, { $0.onDamage = { report in reports.withLock { $0.append(report) } } })
  }

  private func whole(_ values: [String: String]) throws -> Data {
    try PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0)
  }

  /// The bytes are kept, and the advice says as what.
  private func expectAdvice(_ error: StorageError?, _ home: ConfigHome) throws {
    let names = try home.names(in: "quarantine")
    #expect(names.count == 1)
    let name = try #require(names.first)
    let error = try #require(error)
    #expect(error.advice.contains("quarantine/\(name)") && error.message.contains(home.file), "\(error)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.control + "/quarantine/" + name)) == garbage)
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.file)) == garbage)
  }

  /// Somebody else's file, never written by us.
  @Test func aForeignFileThatIsDamagedBeforeTheFirstUse() async throws {
    let home = try ConfigHome()
    try FileManager.default.createDirectory(atPath: home.path, withIntermediateDirectories: true)
    try overwrite(home.file, garbage)
    for _ in 0..<2 { try expectAdvice(await expectError(.damaged) { _ = try await home.open() }, home) }
    // The adapter, which opens without throwing, says the same of each use.
    let (reports, configure) = reported(home)
    var configuration = SlotConfiguration()
    configure(&configuration)
    let adapter = try await home.use { [configuration] in
      UserDefaultsAdapter(suiteName: home.suite, configuration: configuration)
    }
    for _ in 0..<2 {
      try expectAdvice(await expectError(.damaged) { _ = try await adapter.value(for: "theme") }, home)
      try expectAdvice(await expectError(.damaged) { try await adapter.set("x", for: "theme") }, home)
      try expectAdvice(await expectError(.damaged) { _ = try await adapter.keys() }, home)
    }
    #expect(reports.withLock { $0.contains { $0.size == garbage.count } })
    // A backup in its place, as the advice has it.
    try overwrite(home.file, whole(["theme": "dark"]))
    #expect(try await adapter.value(for: "theme") == "dark")
    try await adapter.set("light", for: "theme")
    #expect(try home.texts() == ["theme": "light"])
    try await adapter.engine.close()
  }

  @Test func aSuiteThatWasOnlyReadAndIsDamagedWhileOpen() async throws {
    let home = try ConfigHome()
    try FileManager.default.createDirectory(atPath: home.path, withIntermediateDirectories: true)
    try overwrite(home.file, whole(["theme": "dark"]))
    let (reports, configure) = reported(home)
    let engine = try await home.open(configure)
    #expect(try await engine.text("theme") == "dark")
    let heard = Heard(engine)
    try overwrite(home.file, garbage)
    let revision = engine.latestRevision
    for _ in 0..<2 {
      try expectAdvice(await expectError(.damaged) { _ = try await engine.text("theme") }, home)
      try expectAdvice(await expectError(.damaged) { _ = try await engine.text("absent") }, home)
      try expectAdvice(await expectError(.damaged) { try await engine.put("theme", "x") }, home)
      try expectAdvice(
        await expectError(.damaged) {
          var batch = WriteBatch()
          batch.clear(prefix: nil)
          try await engine.commit(batch, from: StoreOrigin())
        }, home)
    }
    #expect(reports.withLock { $0.map(\.size) } == [garbage.count])
    #expect(engine.latestRevision == revision && heard.changes == [])
    #expect(try home.names(in: "staged") == [])
    try await expectAvailability(engine) { $0 != .available }
    // Moved away, to begin anew, as the advice has it: its values are gone, and that is heard.
    #expect(rename(home.file, home.outside("damaged")) == 0)
    try await expectAvailability(engine) { $0 == .available }
    try await heard.wait(for: "theme")
    #expect(heard.foreign == [["theme"]])
    #expect(try await engine.text("theme") == nil)
    try await engine.put("theme", "light")
    #expect(try home.texts() == ["theme": "light"])
    try await engine.close()
  }

  /// A copy that is damaged as well is none.
  @Test func aDamagedCopyIsNone() async throws {
    let home = try ConfigHome()
    let first = try await home.open()
    try await first.put("theme", "dark")
    try await first.close()
    try overwrite(home.control + "/copy", garbage)
    try overwrite(home.file, garbage)
    try expectAdvice(await expectError(.damaged) { _ = try await home.open() }, home)
    try overwrite(home.file, whole(["theme": "restored"]))
    let engine = try await home.open()
    #expect(try await engine.text("theme") == "restored")
    try await engine.close()
  }

  /// Waits for a state that is told to subscribers.
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
