import CofferCore
import CofferSQLite
import CofferTesting
import Foundation
import Testing

@Suite(.serialized) struct SQLiteConformanceTests {
  // Serialized: a hundred stores at once have more than a thousand open files, and with that many
  // Foundation's Process reads beyond its buffer.
  // Requirements 0.28, 1.60
  @Test(.serialized, arguments: StorageConformance.checks)
  func sqliteConforms(_ check: StorageConformance.Check) async throws { try await conformance.run(check) }

  @Test(.serialized, arguments: StorageConformance.checks)
  func sqliteConformsBehindDecorators(_ check: StorageConformance.Check) async throws {
    try await conformance.twoDeep.run(check)
  }

  private var conformance: StorageConformance {
    StorageConformance(
      name: "sqlite", options: .init(handles: .openAgain, commitsToOutrunJournal: 200)
    ) { location in
      var configuration = SQLiteEngine.Configuration()
      configuration.maximumValueSize = location.maximumValueSize ?? 1 << 30
      configuration.journalRetention = 64
      return try await SQLiteEngine.open(
        at: location.directory.appendingPathComponent("store.db").path, configuration: configuration)
    }
  }
}
