import CofferCore
import CofferFiles
import CofferSecrets
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct SealedConformanceTests {
  @Test(.serialized, arguments: StorageConformance.checks)
  func sealedFilesConform(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  @Test(.serialized, arguments: StorageConformance.checks)
  func sealedFilesConformBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }

  private var conformance: StorageConformance {
    StorageConformance(
      name: "sealed", options: .init(handles: .openAgain, commitsToOutrunJournal: 200)
    ) { location in
      var configuration = SlotEngine.Configuration()
      configuration.maximumValueSize = location.maximumValueSize ?? 64 << 10
      configuration.journalRetention = 64
      return try await SlotEngine.sealed(
        at: location.directory.appendingPathComponent("secrets.sealed"), passphrase: passphrase("correct horse"),
        configuration: configuration, cost: cheap)
    }
  }
}
