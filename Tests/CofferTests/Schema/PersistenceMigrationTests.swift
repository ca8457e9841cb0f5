import CofferPersistence
import CofferTestTraits
import Foundation
import Testing

/// Migrations through the persistence of document 1.
@Suite struct PersistenceMigrationTests {
  let engine = MemoryEngine()

  private func persistence<Value: Codable>(_ schema: ValueSchema<Value>) throws -> AdapterBasedPersistence {
    var schemas = StoreSchema()
    try schemas.declare(prefix: "styles/", schema)
    return try AdapterBasedPersistence(engine: engine, schema: schemas)
  }

  private func version3(_ steps: [MigrationStep] = [Styles.first, Styles.second]) throws -> AdapterBasedPersistence {
    try persistence(ValueSchema<Style3>("style", version: 3, steps: steps))
  }

  private func saveVersion1() async throws {
    let old = AdapterBasedPersistence(engine: engine)
    try await old.saveBatch((0..<250).map { ("styles/\($0)", Style1(name: "n\($0)")) })
  }

  // Requirement 1.30
  @Test func everyValueIsMigrated() async throws {
    try await saveVersion1()
    try await version3().migrate(from: "1.9", to: "1.10")
    let raw = TypedStore(engine: engine)
    for number in 0..<250 {
      #expect(try await raw.load(Style3.self, for: "styles/\(number)") == Style3(title: "n\(number)", sizes: [12]))
    }
    let revision = engine.latestRevision
    try await version3().migrate(from: "1.9", to: "1.10")
    #expect(engine.latestRevision == revision)
  }

  // Requirement 1.30
  @Test func readsMigrate() async throws {
    try await saveVersion1()
    let persistence = try version3()
    #expect(try await persistence.load(Style3.self, for: "styles/7") == Style3(title: "n7", sizes: [12]))
    let both = try await persistence.loadBatch(Style3.self, keys: ["styles/8", "styles/none", "styles/9"])
    #expect(both.map { $0?.title } == ["n8", nil, "n9"])
    try await persistence.saveBatch([("styles/new", Style3(title: "new", sizes: []))])
    // The version before does not overwrite it.
    let previous = try self.persistence(ValueSchema<Style2>("style", version: 2, steps: [Styles.first]))
    #expect(
      await codeThrown { try await previous.save(Style2(name: "x", size: 1), for: "styles/new") } == .newerFormat)
    #expect(try await persistence.load(Style3.self, for: "styles/new")?.title == "new")
  }

  // Requirement 1.30
  @Test func stepsBackBringNewerValuesBack() async throws {
    let keys = ["styles/0", "styles/1", "styles/none"]
    try await version3().saveBatch(keys.dropLast().map { ($0, Style3(title: "n", sizes: [1])) })
    let previous = try persistence(ValueSchema<Style2>("style", version: 2, steps: [Styles.first]))
    #expect(await codeThrown { _ = try await previous.load(Style2.self, for: keys[0]) } == .newerFormat)
    #expect(await codeThrown { _ = try await previous.loadBatch(Style2.self, keys: keys) } == .newerFormat)
    let withdrawn = try persistence(ValueSchema<Style2>("style", version: 2, steps: [Styles.first, Styles.back]))
    let value = Style2(name: "n", size: 1)
    #expect(try await withdrawn.load(Style2.self, for: keys[0]) == value)
    try await withdrawn.migrate(from: "3.0", to: "2.1")
    #expect(try await previous.loadBatch(Style2.self, keys: keys) == [value, value, nil])
  }

  // Requirements 1.30, 1.58
  @Test func refusals() async throws {
    try await saveVersion1()
    let failing = MigrationStep(from: 2, to: 3) { (_: Style2) -> Style3 in throw StepError() }
    let before = try await engine.entry("styles/0")
    let broken = try version3([Styles.first, failing])
    #expect(await codeThrown { try await broken.migrate(from: "1", to: "2") } == .migrationFailed)
    #expect(await codeThrown { _ = try await broken.load(Style3.self, for: "styles/0") } == .migrationFailed)
    let persistence = try version3()
    try await persistence.migrate(from: "2.0", to: "2.0")
    #expect(try await engine.entry("styles/0") == before)
  }
}
