#if SecretService && os(Linux)
  import CofferCore
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  /// Summaries, which are read without secrets, equal those of complete reads.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct KeyringSummaryTests {
    @Test func summariesHaveTheClassOfTheItem() async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      let adapter = KeychainAdapter(engine: engine)
      try await adapter.set(Data("s3cret".utf8), for: "token", accessibility: .afterFirstUnlock)
      try await put("plain", "1", into: engine)
      #expect(try await disagreements(of: engine) == [])
      let before = try await engine.summaries()
      #expect(before.map(\.size) == [nil, nil] && before.allSatisfy { $0.date != nil })
      #expect(before.last?.attributes.accessibility == .afterFirstUnlock)
      #expect(before.first?.attributes.accessibility != nil, "every item has a class")
      try await engine.close()
      // Another program stores one while the store is not open.
      _ = try fixture.stranger.create(
        label: "x",
        KeyringFixture.attributes("theirs") + [KeyringAttribute("accessibility", KeychainAccessibility.always.name)],
        secret: Data("t".utf8), replace: false)
      let again = try await fixture.open()
      #expect(try await again.summaries().filter { $0.key.string != "theirs" } == before)
      #expect(try await disagreements(of: again) == [])
      try await again.close()
    }

    /// Retaining a secret for a snapshot does not change its class.
    @Test func aSnapshotKeepsTheClassOfItsState() async throws {
      let fixture = try KeyringFixture()
      let engine = try await fixture.open()
      let adapter = KeychainAdapter(engine: engine)
      try await adapter.set(Data("old".utf8), for: "k", accessibility: .afterFirstUnlock)
      try await engine.withSnapshot { snapshot in
        try await adapter.set(Data("new".utf8), for: "k", accessibility: .whenUnlocked)
        let entry = try await snapshot.entries([KeyName("k")])[0]
        #expect(entry?.value == Data("old".utf8) && entry?.attributes.accessibility == .afterFirstUnlock)
      }
      try await engine.close()
    }
  }
#endif
