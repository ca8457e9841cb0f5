import CofferCore
import CofferFileSystem
import CofferFiles
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct PreferencesConformanceTests {
  // Requirements 0.28, 4.15
  @Test(.serialized, arguments: StorageConformance.checks)
  func preferencesConform(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  @Test(.serialized, arguments: StorageConformance.checks)
  func preferencesConformBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }

  private var conformance: StorageConformance {
    StorageConformance(
      name: "prefs", options: .init(handles: .openAgain, commitsToOutrunJournal: 200)
    ) { location in
      var configuration = SlotEngine.Configuration()
      configuration.maximumValueSize = location.maximumValueSize ?? 16 << 20
      configuration.journalRetention = 64
      return try await SystemDirectories.$current.withValue(PreferenceFixture.system(location.directory.path)) {
        [configuration] in
        try await SlotEngine.preferences(suite: "com.example.shop", configuration: configuration)
      }
    }
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
