import Coffer
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Versions of values in real stores, with other processes, full disks and flipped bits.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct SchemaProcessTests {
  private func numbers(_ location: String) async throws -> TypedStore {
    let schema = try ValueSchema<[Int]>(
      "numbers", version: 3,
      steps: [
        MigrationStep(from: 1, to: 2) { (old: String) in Int(old) ?? 0 },
        MigrationStep(from: 2, to: 3) { (old: Int) in [old] },
      ])
    var schemas = StoreSchema()
    try schemas.declare(prefix: "n/", schema)
    return try TypedStore(engine: try await StoreLocation(location).open(), schema: schemas)
  }

  @Test(
    "Two versions of an application use one store: no write that was accepted is lost", arguments: ["sqlite", "file"])
  func twoVersions(kind: String) async throws {
    let directory = try TemporaryDirectory()
    let location = "\(kind):\(directory.path("store"))"
    try await StoreLocation(location).open().close()
    let count = 40
    let old = try HelperProcess(["schema-write", location, "\(count)"])
    #expect(try old.line() == "ready")
    old.tell("go")
    var accepted: [Int: Int] = [:]
    func note(_ line: String) {
      let words = line.split(separator: " ").compactMap { Int($0) }
      if words.count == 2 { accepted[words[0]] = words[1] }
    }
    for _ in 0..<(count + 5) { note(try #require(try old.line())) }
    // Its writes go on while the newer version migrates, which ends once all are migrated.
    let store = try await numbers(location)
    for _ in 0..<200 {
      _ = try await store.migrate()
      let marks = try await store.engine.summaries(prefix: KeyName("n/"))
      if try marks.allSatisfy({ try SchemaMark(in: $0.attributes)?.version == 3 }) { break }
    }
    let lines = try old.lines()
    lines.forEach(note)
    #expect(lines.last == "refused \(count)" && old.wait() == 0)
    for number in 0..<count {
      let value = try await store.load([Int].self, for: KeyName("n/\(number)"))
      #expect(value == accepted[number].map { [$0] }, "number \(number)")
    }
    try await store.engine.close()
  }

  @Test(
    "A full disk leaves each value in its old or its new form, and the next run goes on",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"), arguments: ["sqlite", "file"], [1, 7, 20, 45])
  func fullDisk(kind: String, number: Int) async throws {
    let directory = try TemporaryDirectory()
    let location = "\(kind):\(directory.path("store"))"
    let plain = TypedStore(engine: try await StoreLocation(location).open())
    let keys = try (0..<250).map { try KeyName("n/\($0)") }
    try await plain.saveAll(keys.enumerated().map { ($1, "\($0)") })
    try await plain.engine.close()
    let helper = try HelperProcess(
      ["schema-migrate", location],
      environment: [
        ("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_FAULT_ROOT", directory.path("")),
        ("COFFER_FAULT", "full:pwrite:\(number)"),
      ])
    helper.tell("go")
    let lines = try helper.lines()
    let engine = try await StoreLocation(location).open()
    for (index, entry) in try await engine.entries(keys).enumerated() {
      let text = entry.map { String(decoding: $0.value, as: UTF8.self) }
      #expect(["\(index)", "[\(index)]"].contains(text), "\(number): \(lines)")
    }
    try await engine.close()
    let store = try await numbers(location)
    try await store.migrate().requireComplete()
    for (index, key) in keys.enumerated() { #expect(try await store.load([Int].self, for: key) == [index]) }
    try await store.engine.close()
  }

  @Test("A flipped bit in a store with versions gives no other value", arguments: ["sqlite", "file"])
  func flippedBits(kind: String) async throws {
    var random = SeededGenerator(seed: 1_019)
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: directory.path("intact"), withIntermediateDirectories: false)
    let store = try await numbers("\(kind):\(directory.path("intact/store"))")
    try await TypedStore(engine: store.engine).save("7", for: "n/7")
    #expect(try await store.load([Int].self, for: "n/7") == [7])
    try await store.engine.close()
    let database = kind == "sqlite" ? "store" : "store/.coffer/journal.db"
    let intact = try Data(contentsOf: URL(fileURLWithPath: directory.path("intact/\(database)")))
    var refusals = 0
    for round in 0..<(isProving ? 20_000 : 150) {
      // A copy of its own: what could not be opened may still be closing the last one.
      let copy = directory.path("\(round)")
      try FileManager.default.copyItem(atPath: directory.path("intact"), toPath: copy)
      defer { try? FileManager.default.removeItem(atPath: copy) }
      var damaged = intact
      damaged[Int.random(in: 0..<damaged.count, using: &random)] ^= 1 << Int.random(in: 0..<8, using: &random)
      try damaged.write(to: URL(fileURLWithPath: "\(copy)/\(database)"))
      do {
        let store = try await numbers("\(kind):\(copy)/store")
        do { #expect(try await store.load([Int].self, for: "n/7") == [7]) } catch is StorageError { refusals += 1 }
        try await store.engine.close()
      } catch is StorageError { refusals += 1 }
    }
    print("versions in \(kind): \(refusals) injuries refused")
  }
}
