#if os(Linux) || os(macOS)
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Processes that are killed at random moments while they write the values of a store anew.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(30))) struct RotationKillTests {
    private static let count = 1_500
    /// The number of kills of each kind of store and goal.
    private static let kills = isProving ? 100 : 6
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func base(_ kind: TestedStore) async throws -> any StorageEngine { try await kind.open(in: directory.url) }

    private func fill(_ engine: any StorageEngine) async throws {
      var batch = WriteBatch()
      for number in 0..<Self.count { batch.put(.known("k/\(number)"), Data("value \(number)".utf8)) }
      try await engine.commit(batch, from: StoreOrigin())
    }

    private func check(_ engine: any StorageEngine, _ context: String) async throws {
      let keys = (0..<Self.count).map { KeyName.known("k/\($0)") }
      let values = try await engine.entries(keys).map { $0.map { String(decoding: $0.value, as: UTF8.self) } }
      #expect(values == (0..<Self.count).map { "value \($0)" }, "\(context)")
      #expect(try await engine.summaries().count == Self.count, "\(context)")
    }

    private func helper(_ kind: TestedStore, _ goal: KeyRotation.Goal, _ names: String) throws -> HelperProcess {
      let helper = try HelperProcess(["rotate-values", directory.url.path, kind.rawValue, goal.rawValue, names])
      #expect(try helper.line() == "ready")
      helper.tell("go")
      return helper
    }

    // Requirement 4.49
    @Test(
      "A killed rotation loses nothing, and the next one continues",
      arguments: [
        (TestedStore.sqlite, KeyRotation.Goal.newKey, "hidden"), (.file, .newKey, "plain"),
        (.sqlite, .encryption, "hidden"),
        (.file, .encryption, "plain"), (.sqlite, .decryption, "hidden"),
      ])
    func kills(_ kind: TestedStore, _ goal: KeyRotation.Goal, _ names: String) async throws {
      let settings = EncryptionSettings(hidesNames: names == "hidden")
      try await prepare(kind, goal, settings)
      var random = SeededGenerator(seed: UInt64(goal.rawValue.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0xFFFF))
      for kill in 0..<Self.kills {
        let helper = try helper(kind, goal, names)
        // The moments are spread over the run; what is tested does not depend on them.
        pause(upTo: .milliseconds(250), using: &random)
        helper.kill()
        helper.wait()
        let base = try await base(kind)
        // The last kill may have come after the end of a decryption.
        if try await base.record(.keyRing) == nil {
          try await check(base, "after kill \(kill)")
          try await base.close()
          try await prepare(kind, goal, settings)
        } else {
          // Until they are finished, nobody can look at the values of the others.
          guard goal == .newKey else {
            try await base.close()
            continue
          }
          let engine = try await base.encrypted(settings, ifMissing: .refuse)
          try await check(engine, "after kill \(kill)")
          try await engine.close()
        }
      }
      let helper = try helper(kind, goal, names)
      #expect(try helper.line() == "complete")
      #expect(helper.wait() == 0)
      try await checkEnd(kind, goal, settings)
    }

    private func prepare(_ kind: TestedStore, _ goal: KeyRotation.Goal, _ settings: EncryptionSettings) async throws {
      let base = try await base(kind)
      if try await base.summaries().isEmpty { try await fill(base) }
      if goal != .encryption { #expect(try await base.encrypting(settings).isComplete) }
      try await base.close()
    }

    private func checkEnd(_ kind: TestedStore, _ goal: KeyRotation.Goal, _ settings: EncryptionSettings) async throws {
      let base = try await base(kind)
      guard goal != .decryption else {
        #expect(try await base.record(.keyRing) == nil)
        try await check(base, "at the end")
        return try await base.close()
      }
      let engine = try await base.encrypted(settings, ifMissing: .refuse)
      try await check(engine, "at the end")
      let ring = try await KeyRingStore(base).open(settings: settings, ifMissing: .refuse) { _ in try .forTests() }.ring
      #expect(ring.entries.count == 1 && ring.phase == .complete)
      let entries = try await base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 10_000) }
      for entry in entries { #expect(try EnvelopeHeader(of: entry.value).keyID == ring.primary.id) }
      try await engine.close()
    }
  }
#endif
