#if os(Linux) || os(macOS)
  import CofferCore
  import CofferCrypto
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Processes that are killed at random moments while they write a store and its anchor, and rotate its keys.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(60))) struct FreshnessProcessTests {
    private static let kills = isProving ? 300 : 6
    private let directory: TemporaryDirectory

    init() throws {
      directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(atPath: directory.path("store"), withIntermediateDirectories: true)
    }

    private var anchor: FileAnchor { FileAnchor(URL(fileURLWithPath: directory.path("elsewhere/anchor"))) }

    private func helper(_ kind: BaseStore, _ seed: Int, values: Bool) throws -> HelperProcess {
      let anchor = directory.path("elsewhere/anchor")
      let arguments = ["anchored-write", directory.path("store"), kind.rawValue, anchor, "\(seed)"]
      let helper = try HelperProcess(arguments + (values ? ["values"] : []))
      #expect(try helper.line() == "ready")
      return helper
    }

    private func open(_ kind: BaseStore) async throws -> EncryptedEngine {
      let base = try await kind.open(in: URL(fileURLWithPath: directory.path("store")))
      do { return try await base.anchored(anchor, EncryptionSettings(hidesNames: true)) } catch {
        try await base.close()
        throw error
      }
    }

    @Test(
      "No crash and no other process makes a store look older",
      arguments: [BaseStore.sqlite, .file], [false, true])
    func noFalseAlarm(_ kind: BaseStore, values: Bool) async throws {
      var random = SeededGenerator(seed: kind == .sqlite ? 11 : 12)
      for kill in 0..<Self.kills {
        let helpers = [try helper(kind, 2 * kill, values: values), try helper(kind, 2 * kill + 100, values: values)]
        for helper in helpers { helper.tell("go") }
        // The first process covers the values before it is killed, however slow the machine is.
        if kill == 0 { #expect(try helpers[0].line() == "round") }
        for helper in helpers {
          // The moments are spread over the run; what is tested does not depend on them.
          usleep(UInt32.random(in: 0..<300_000, using: &random))
          helper.kill()
          helper.wait()
          #expect(try helper.lines().allSatisfy { $0 == "round" }, "kill \(kill)")
        }
        let engine = try await open(kind)
        #expect((try await engine.base.record(ValuesRecord.name) != nil) == values)
        try await engine.verifyFreshness()
        if kill % 2 == 0 { try await engine.close() } else { try await engine.base.close() }
      }
    }

    @Test(
      "A process that is killed while it begins to cover the values leaves a store that the next one covers",
      arguments: [BaseStore.sqlite, .file])
    func killedWhileCovering(_ kind: BaseStore) async throws {
      let count = kind == .sqlite ? 3_000 : 300
      let engine = try await open(kind)
      var batch = WriteBatch()
      for number in 0..<count { batch.put(.known("k/\(number)"), Data("value".utf8)) }
      try await engine.commit(batch, from: StoreOrigin())
      try await engine.close()
      try directory.copy("store", to: "plain")
      try directory.copy("elsewhere", to: "anchor")
      var random = SeededGenerator(seed: kind == .sqlite ? 21 : 22)
      for kill in 0..<Self.kills {
        try directory.copy("plain", to: "store")
        try directory.copy("anchor", to: "elsewhere")
        let arguments = ["cover-values", directory.path("store"), kind.rawValue, directory.path("elsewhere/anchor")]
        let helper = try HelperProcess(arguments)
        #expect(try helper.line() == "ready")
        helper.tell("go")
        usleep(UInt32.random(in: 0..<60_000, using: &random))
        helper.kill()
        helper.wait()
        // A handle without the anchor writes before the values are counted, or after.
        let base = try await kind.open(in: URL(fileURLWithPath: directory.path("store")))
        let unaware = try await base.encrypted(EncryptionSettings(hidesNames: true))
        try await unaware.put("k/1", "two")
        let covering = try await base.anchored(anchor, EncryptionSettings(hidesNames: true), coversValues: true)
        try await covering.verifyFreshness()
        let digest = try await base.record(ValuesRecord.name).map {
          try ValuesRecord.open($0.content, under: FreshnessKeys(covering.keyRing)).digest
        }
        #expect(digest != nil, "kill \(kill)")
        // From now on a removed value is noticed.
        let stored = try #require(try await base.summaries().first?.key)
        try await base.commit(WriteBatch([.delete(stored)]), from: StoreOrigin())
        #expect(try await storageError { try await covering.verifyFreshness() }.code == .rolledBack, "kill \(kill)")
        try await base.close()
      }
    }

    @Test(
      "A copy that was taken between two runs is noticed after each of them",
      arguments: [BaseStore.sqlite, .file], [false, true])
    func oldCopies(_ kind: BaseStore, values: Bool) async throws {
      try await open(kind).close()
      for run in 0..<(isProving ? 50 : 3) {
        try directory.copy("store", to: "old")
        let writer = try helper(kind, 2 * run, values: values)
        writer.tell("go")
        #expect(try writer.line() == "round")
        writer.kill()
        writer.wait()
        try directory.copy("store", to: "new")
        try directory.copy("old", to: "store")
        #expect(try await storageError { _ = try await open(kind) }.code == .rolledBack, "run \(run)")
        try directory.copy("new", to: "store")
        try await open(kind).close()
      }
    }
  }
#endif
