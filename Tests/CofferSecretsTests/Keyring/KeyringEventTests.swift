#if SecretService && os(Linux)
  import CofferCore
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import CofferTesting
  import Foundation
  import Testing

  @testable import CofferSecrets

  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(5)))
  struct KeyringEventTests {
    // Requirement 5.7
    @Test func aLockedKeyringIsToldAndNoSecretOrSize() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let recorder = EventRecorder()
      let engine = try await fixture.open { $0.store.events = recorder.events }
      try await put("key", "hunter2-quagmire", into: engine)
      #expect(recorder.commits.map(\.operations) == [1] && recorder.commits.map(\.bytes) == [nil])
      try fixture.keyring.lock()
      try await recorder.first { $0.isAvailable == false }
      try await expectError(.unavailable) { try await put("key", "hunter2-quagmire", into: engine) }
      #expect(recorder.failures.map(\.code) == [.unavailable])
      try fixture.keyring.unlock("pw")
      try await recorder.first { $0.isAvailable == true }
      try await put("key", "again", into: engine)
      try await engine.close()
      try await recorder.first { $0.kind == .closed }
      #expect(recorder.commits.count == 2)
      // Closing is not told as an outage.
      #expect(recorder.all.compactMap(\.isAvailable) == [false, true])
      for event in recorder.all {
        var text = "\(event)"
        dump(event, to: &text)
        #expect(!text.contains("hunter2") && event.location == engine.description)
      }
    }
  }

  extension StoreEvent {
    fileprivate var isAvailable: Bool? {
      if case .availabilityChanged(let availability) = kind { availability.isUsable } else { nil }
    }
  }
#endif
