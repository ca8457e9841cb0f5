import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// A backup of a slot store is a store of its own while it is filled.
@Suite struct SlowBackupTests {
  /// It has the name of its source from the moment it is complete: before, its own checks took it for replaced.
  @Test func aBackupMayTakeLongerThanTheChecksOfAStore() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    try await engine.commit(WriteBatch([.put("k", Data("v".utf8))]), from: StoreOrigin())
    let path = directory.outside("a.backup")
    let report = try await ValueBackup.make(at: path, overwrite: false, of: engine.description, journal: engine.journal)
    {
      copy in
      for number in 0..<3 {
        // Larger than the log, so that the database file changes.
        let value = Data(repeating: UInt8(number), count: 20 << 20)
        try await copy.commit(WriteBatch([.put("large", value)]), from: StoreOrigin())
        try await Task.sleep(for: .seconds(1.2))  // time passes: the copy looks at its file once a second
      }
      return copy.latestRevision
    }
    #expect(report.values == 1)
    let backup = try await SQLiteEngine.open(at: path)
    #expect(try await backup.contains("large"))
    try await backup.close()
    try await engine.close()
  }
}
