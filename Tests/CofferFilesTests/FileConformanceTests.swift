import CofferFiles
import CofferTestSupport
import CofferTesting
import Testing

@Suite(.serialized) struct FileConformanceTests {
  private let conformance = TestedStore.file.conformance()

  // Requirements 0.28, 1.60, 4.15
  @Test(.serialized, arguments: StorageConformance.checks)
  func filesConform(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  @Test(.serialized, arguments: StorageConformance.checks)
  func filesConformBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
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
