import CofferCore
import CofferKeychain
import CofferSlots
import CofferTesting
import Foundation
import Testing

@Suite(.serialized, .enabled(if: canTestKeyring, whyNoKeyring)) struct KeychainConformanceTests {
  @Test(.serialized, arguments: StorageConformance.checks)
  func keychainConforms(_ check: StorageConformance.Check) async throws {
    let place = try KeyringPlace()
    let conformance = StorageConformance(
      name: "keychain", options: .init(handles: .openAgain, commitsToOutrunJournal: 40, largeBatchSteps: 100)
    ) { location in
      try await place.open {
        $0.store.maximumValueSize = location.maximumValueSize ?? 64 << 10
        $0.store.journalRetention = 16  // more than a check commits before its subscriber must have heard it
      }
    }
    try await conformance.run(check)
  }
}
