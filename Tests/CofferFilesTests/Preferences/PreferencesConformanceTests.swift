import CofferFileSystem
import CofferFiles
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct PreferencesConformanceTests {
  private let conformance = TestedStore.prefs.conformance(largest: 16 << 20)

  // Requirements 0.28, 4.15
  @Test(.serialized, arguments: StorageConformance.checks)
  func preferencesConform(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  // Decorators forward to the engine of files here, too, whose suite runs all checks behind them.
  @Test(.serialized, arguments: isProving ? StorageConformance.checks : StorageConformance.everySixth)
  func preferencesConformBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }

  /// The adapter through the four methods of `StorageAdapter` only.
  // Requirement 1.15
  @Test(.serialized, arguments: StorageConformance.checks)
  func adapterConforms(_ check: StorageConformance.Check) async throws {
    let conformance = StorageConformance(name: "prefs adapter") { location in
      SystemDirectories.$current.withValue(PreferenceFixture.system(location.directory.path)) {
        UserDefaultsAdapter(suiteName: "com.example.shop")
      }
    }
    try await conformance.run(check)
  }
}
