#if os(Linux) || os(macOS)
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Processes that are killed at random moments while they destroy the keys of a store.
  @Suite(.blocking, .serialized, .timeLimit(.minutes(30))) struct ShredKillTests {
    private static let count = 300
    private static let kills = isProving ? 60 : 8
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func ring(of base: any StorageEngine) async throws -> KeyRing {
      try await KeyRingStore(base).open(settings: EncryptionSettings(), ifMissing: .refuse) { _ in try .forTests() }
        .ring
    }

    @Test(
      "Killed, it has erased everything or nothing, and the next opening continues",
      arguments: [
        (TestedStore.sqlite, "plain"), (.sqlite, "hidden"), (.file, "plain"),
      ])
    func kills(_ kind: TestedStore, _ names: String) async throws {
      let settings = EncryptionSettings(hidesNames: names == "hidden")
      var random = SeededGenerator(seed: UInt64(kind.rawValue.utf8.count * 7 + names.utf8.count))
      var erased = 0
      for kill in 0..<Self.kills {
        let search = try await prepare(kind, settings)
        let helper = try HelperProcess(["shred-values", directory.url.path, kind.rawValue, "", names])
        #expect(try helper.line() == "ready")
        helper.tell("go")
        pause(upTo: .milliseconds(120), using: &random)
        helper.kill()
        helper.wait()
        let base = try await kind.open(in: directory.url)
        let hasBegun = try await ring(of: base).primary.id != search.primary
        let engine = try await base.encrypted(settings, ifMissing: .refuse)
        for number in 0..<Self.count {
          let key = KeyName.known("k/\(number)")
          guard hasBegun else {
            #expect(try await engine.text(key) == "value \(number)", "after kill \(kill)")
            continue
          }
          do {
            #expect(try await engine.entry(key) == nil, "after kill \(kill)")
          } catch let error as StorageError { #expect(error.code == .keyUnavailable, "\(error)") }
        }
        if hasBegun {
          erased += 1
          try await eventually("the old key is gone") { try await ring(of: base).entries.count <= 1 }
          #expect(try await engine.summaries().isEmpty)
          #expect(try search.files.found(in: directory.url) == [], "after kill \(kill)")
        }
        try await engine.close()
      }
      print("\(erased) of \(Self.kills) killed processes had destroyed the keys")
    }

    /// Fills the store, and returns what to search for.
    private func prepare(
      _ kind: TestedStore, _ settings: EncryptionSettings
    ) async throws -> (primary: KeyID, files: FileSearch) {
      let base = try await kind.open(in: directory.url)
      let engine = try await base.encrypted(settings)
      var batch = WriteBatch()
      for number in 0..<Self.count { batch.put(.known("k/\(number)"), Data("value \(number)".utf8)) }
      try await engine.commit(batch, from: StoreOrigin())
      var search = FileSearch()
      try await search.add(base)
      let primary = try await ring(of: base).primary.id
      try await engine.close()
      return (primary, search)
    }
  }
#endif
