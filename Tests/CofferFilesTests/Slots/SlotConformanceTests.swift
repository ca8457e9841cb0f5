import CofferCore
import CofferFiles
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct SlotConformanceTests {
  @Test(.serialized, arguments: StorageConformance.checks)
  func slotsConform(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  @Test(.serialized, arguments: StorageConformance.checks)
  func slotsConformBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }

  private var conformance: StorageConformance {
    StorageConformance(
      name: "shelf", options: .init(handles: .openAgain, commitsToOutrunJournal: 200)
    ) { location in
      var configuration = SlotEngine.Configuration()
      configuration.maximumValueSize = location.maximumValueSize ?? 1 << 30
      configuration.journalRetention = 64
      return try await SlotEngine.open(
        ShelfSlots.shelf(location.id), journalIn: location.directory.path, name: "shelf:\(location.id)",
        configuration: configuration)
    }
  }
}
