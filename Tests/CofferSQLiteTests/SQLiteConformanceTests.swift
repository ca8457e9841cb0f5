import CofferTestSupport
import CofferTesting
import Testing

@Suite(.serialized) struct SQLiteConformanceTests {
  private let conformance = TestedStore.sqlite.conformance()

  // Serialized: a hundred stores at once have more than a thousand open files, and with that many
  // Foundation's Process reads beyond its buffer.
  // Requirements 0.28, 1.60
  @Test(.serialized, arguments: StorageConformance.checks)
  func sqliteConforms(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  @Test(.serialized, arguments: StorageConformance.checks)
  func sqliteConformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }
}
