import CofferCore
import CofferKeychain
import CofferSlots
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@Suite(.serialized, .enabled(if: canTestKeyring, whyNoKeyring)) struct KeychainConformanceTests {
  @Test(.serialized, arguments: StorageConformance.checks)
  func keychainConforms(_ check: StorageConformance.Check) async throws {
    try await conformance(KeyringPlace()).run(check)
  }

  private func conformance(_ place: KeyringPlace) -> StorageConformance {
    StorageConformance(
      name: "keychain", options: .init(handles: .openAgain, commitsToOutrunJournal: 40, largeBatchSteps: 100)
    ) { location in
      try await place.open {
        $0.store.maximumValueSize = location.maximumValueSize ?? 64 << 10
        $0.store.journalRetention = 16  // more than a check commits before its subscriber must have heard it
      }
    }
  }

  private static let interruptions = StorageConformance.checks.filter {
    $0.name.contains("while a store is away") || $0.name.contains("after an interruption")
  }

  /// The daemon goes with its bus, or the keyring is locked.
  @Test(.serialized, arguments: interruptions, [false, true])
  func keychainConformsWhenInterrupted(_ check: StorageConformance.Check, locks: Bool) async throws {
    let place = try KeyringPlace(password: "pw")
    let conformance = StorageConformance(
      name: "keychain",
      options: .init(handles: .openAgain) { _, isCut in
        switch (locks, isCut) {
        case (true, true): try place.keyring.lock()
        case (true, false): try place.keyring.unlock("pw")
        case (false, true):
          place.keyring.stopBus()
          place.keyring.stopDaemon()
        case (false, false):
          try place.keyring.startBus()
          try place.keyring.startDaemon(password: "pw")
        }
      }
    ) { _ in try await place.open() }
    #expect(try await conformance.run(check) == .passed)
  }

  /// Two seconds each: every sixth here.
  private static let slice = StorageConformance.checks.enumerated().filter { $0.offset % 6 == 0 }.map(\.element)

  /// Behind what stands in front of engines.
  @Test(.serialized, arguments: slice)
  func keychainConformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    let place = try KeyringPlace()
    try await conformance(place).twoDeep.run(check)
  }

  /// All of them: `./run prove`.
  @Test(.serialized, .enabled(if: isProving, "long: ./run prove"), arguments: StorageConformance.checks)
  func proveThatTheKeyringConformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    let place = try KeyringPlace()
    try await conformance(place).twoDeep.run(check)
  }
}
