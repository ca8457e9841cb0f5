import CofferCore
import CofferFiles
import CofferSecrets
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@Suite(.serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason)) struct KeychainConformanceTests {
  // Requirements 0.28, 1.16, 1.45
  @Test(.serialized, arguments: StorageConformance.checks)
  func keychainConforms(_ check: StorageConformance.Check) async throws {
    try await conformance(KeyringFixture()).run(check)
  }

  private func conformance(_ fixture: KeyringFixture) -> StorageConformance {
    StorageConformance(
      name: "keychain", options: .init(handles: .openAgain, commitsToOutrunJournal: 40, largeBatchSteps: 100)
    ) { location in
      try await fixture.open {
        $0.store.maximumValueSize = location.maximumValueSize ?? 64 << 10
        $0.store.journalRetention = 16  // more than a check commits before its subscriber must have received it
      }
    }
  }

  private static let interruptions = StorageConformance.checks.filter {
    $0.name.contains("while a store is unreachable") || $0.name.contains("after an interruption")
  }

  /// The daemon ends with its bus, or the keyring is locked.
  @Test(.serialized, arguments: interruptions, [false, true])
  func keychainConformsWhenInterrupted(_ check: StorageConformance.Check, locks: Bool) async throws {
    let fixture = try KeyringFixture(password: "pw")
    let conformance = StorageConformance(
      name: "keychain",
      options: .init(handles: .openAgain) { _, isCut in
        switch (locks, isCut) {
        case (true, true): try fixture.keyring.lock()
        case (true, false): try fixture.keyring.unlock("pw")
        case (false, true):
          fixture.keyring.stopBus()
          fixture.keyring.stopDaemon()
        case (false, false):
          try fixture.keyring.startBus()
          try fixture.keyring.startDaemon(password: "pw")
        }
      }
    ) { _ in try await fixture.open() }
    #expect(try await conformance.run(check) == .passed)
  }

  /// Runs checks through engine decorators: each takes two seconds.
  @Test(.serialized, arguments: isProving ? StorageConformance.checks : StorageConformance.everySixth)
  func keychainConformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    let fixture = try KeyringFixture()
    try await conformance(fixture).twoDeep.run(check)
  }
}
