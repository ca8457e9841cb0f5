import CofferCore
import CofferFiles
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct FileConformanceTests {
  // Requirements 0.28, 1.60, 4.15
  @Test(.serialized, arguments: StorageConformance.checks)
  func filesConform(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  @Test(.serialized, arguments: StorageConformance.checks)
  func filesConformBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }

  private var conformance: StorageConformance {
    StorageConformance(
      name: "file", options: .init(handles: .openAgain, commitsToOutrunJournal: 200)
    ) { location in
      var configuration = SlotEngine.Configuration()
      configuration.maximumValueSize = location.maximumValueSize ?? 1 << 30
      configuration.journalRetention = 64
      return try await SlotEngine.files(in: location.directory, configuration: configuration)
    }
  }

  /// The adapter through the four methods of `StorageAdapter` only.
  // Requirement 1.12
  @Test(.serialized, arguments: StorageConformance.checks)
  func adapterConforms(_ check: StorageConformance.Check) async throws {
    let conformance = StorageConformance(name: "file adapter") { location in
      FileStorageAdapter(directory: location.directory)
    }
    try await conformance.run(check)
  }
}
