import Coffer
import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Migrations that fail, and processes that are killed.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct SchemaFailureTests {
  private func expectUnchanged(
    _ steps: [MigrationStep], validate: (@Sendable (Style3) throws -> Void)? = nil, text: String
  ) async throws {
    let engine = MemoryEngine()
    try await TypedStore(engine: engine).save(Style1(name: "s3cret"), for: "style")
    let before = try await engine.entry("style")
    let store = try Styles.version3(engine, steps: steps, validate: validate)
    do {
      _ = try await store.load(Style3.self, for: "style")
      Issue.record("The migration has not failed.")
    } catch let error as StorageError {
      #expect(error.code == .migrationFailed && error.key == "style")
      #expect(error.description.contains(text) && !error.description.contains("s3cret"), "\(error)")
    }
    #expect(try await engine.entry("style") == before)
    let report = try await store.migrate()
    #expect(report.failed == 1 && report.migrated == 0 && report.failures.first?.key == "style")
    #expect(await codeThrown { try report.requireComplete() } == .migrationFailed)
    #expect(try await engine.entry("style") == before)
  }

  // Requirement 1.58
  @Test func aStepThatThrowsChangesNothing() async throws {
    let failing = MigrationStep(from: 2, to: 3) { (_: Style2) -> Style3 in throw StepError() }
    try await expectUnchanged([Styles.first, failing], text: "the step from 2 to 3 failed")
  }

  // Requirement 1.29
  @Test func aValueThatIsNotValidIsNotStored() async throws {
    try await expectUnchanged(
      [Styles.first, Styles.second], validate: { _ in throw StepError() }, text: "the new value is not valid")
  }

  @Test func gapsCyclesDuplicatesAndTypesAreRefused() async {
    let back = MigrationStep(from: 2, to: 1) { (old: Style2) in Style1(name: old.name) }
    let beyond = MigrationStep(from: 3, to: 4) { (old: Style3) in old }
    let same = MigrationStep(from: 3, to: 3) { (old: Style3) in old }
    let cases = [
      [Styles.first], [Styles.first, Styles.first, Styles.second], [Styles.first, Styles.second, back],
      [Styles.first, Styles.second, beyond], [Styles.first, Styles.second, same],
    ]
    for steps in cases {
      #expect(await codeThrown { _ = try Styles.version3(MemoryEngine(), steps: steps) } == .invalidSchema)
    }
    let other = MigrationStep(from: 2, to: 3) { (old: Int) in Style3(title: "", sizes: [old]) }
    #expect(
      await codeThrown { _ = try Styles.version3(MemoryEngine(), steps: [Styles.first, other]) } == .invalidSchema)
    #expect(await codeThrown { _ = try ValueSchema<Int>("", version: 1) } == .invalidSchema)
    #expect(await codeThrown { _ = try ValueSchema<Int>("a", version: 1, unversioned: 2) } == .invalidSchema)
  }

  @Test func bytesOfNoKnownVersionAreReportedAsUnversioned() async throws {
    let engine = MemoryEngine()
    try await engine.commit(WriteBatch([.put("style", Data("edited".utf8))]), from: StoreOrigin())
    do {
      _ = try await Styles.version3(engine).load(Style3.self, for: "style")
      Issue.record("The bytes were read as a value.")
    } catch let error as StorageError {
      #expect(error.code == .decodingFailed && error.message.contains("the version of values without a mark"))
    }
    #expect(try await Styles.version3(engine).load(Data.self, for: "style") == Data("edited".utf8))
  }

  @Test func anUnknownMarkIsNotTakenForAMissingOne() async throws {
    let engine = MemoryEngine()
    let store = try Styles.version3(engine)
    try await store.save(Style3(title: "a", sizes: []), for: "style")
    let entry = try #require(try await engine.entry("style"))
    // Each bit of the version and the name: another version or schema, or an unknown form.
    for bit in 24..<entry.attributes.encoded.count * 8 {
      var bytes = entry.attributes.encoded
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let attributes = try #require(ValueAttributes(encoded: bytes))
      try await engine.commit(WriteBatch([.put("style", entry.value, attributes)]), from: StoreOrigin())
      #expect(await codeThrown { _ = try await store.load(Style3.self, for: "style") } != nil, "bit \(bit)")
    }
  }

  // Requirement 1.71
  @Test(arguments: ["sqlite", "file"])
  func aKilledMigrationIsResumed(kind: String) async throws {
    var random = SeededGenerator(seed: 19)
    let count = kind == "file" ? 150 : 600
    for round in 0..<(isProving ? 100 : 10) {
      let directory = try TemporaryDirectory()
      let location = "\(kind):\(directory.path("store"))"
      let plain = TypedStore(engine: try await StoreLocation(location).open())
      let keys = try (0..<count).map { try KeyName("n/\($0)") }
      try await plain.saveAll(keys.enumerated().map { ($1, "\($0)") }, durability: .relaxed)
      let killed = try HelperProcess(["schema-migrate", location])
      #expect(try killed.line() == "ready")
      killed.tell("go")
      for _ in 0..<Int.random(in: 0...count / 100, using: &random) { _ = try killed.line() }
      killed.kill()
      // Two processes resume at once; each value is migrated by one of them.
      let helpers = try (0..<2).map { _ in try HelperProcess(["schema-migrate", location]) }
      for helper in helpers { #expect(try helper.line() == "ready") }
      for helper in helpers { helper.tell("go") }
      for helper in helpers {
        let last = try helper.lines().last ?? ""
        #expect(last.hasPrefix("migrated") && helper.wait() == 0, "round \(round): \(last)")
      }
      for (number, key) in keys.enumerated() {
        let entry = try await plain.engine.entry(key)
        #expect(entry?.value == Data("[\(number)]".utf8), "round \(round), \(key)")
        #expect(try SchemaMark(in: entry?.attributes ?? .none)?.version == 3)
      }
      try await plain.engine.close()
    }
  }
}
