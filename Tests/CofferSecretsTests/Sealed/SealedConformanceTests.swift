import CofferTestSupport
import CofferTesting
import Testing

@Suite(.serialized) struct SealedConformanceTests {
  private let conformance = TestedStore.sealed.conformance(largest: 64 << 10)

  @Test(.serialized, arguments: StorageConformance.checks)
  func sealedFilesConform(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  // Decorators forward to the engine of files here, too, whose suite runs all checks behind them.
  @Test(.serialized, arguments: isProving ? StorageConformance.checks : StorageConformance.everySixth)
  func sealedFilesConformBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }
}
