import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferFiles

/// What is on disk when a store has been closed.
@Suite(.blocking, .timeLimit(.minutes(5))) struct ClosingTests {
  @Test("A closed store changes nothing any more: its journal has no log")
  func noLog() async throws {
    let directory = try TemporaryDirectory()
    let journal = directory.path("files/.coffer/journal.db")
    for round in 0..<60 {
      let engine = try await SlotEngine.files(in: URL(fileURLWithPath: directory.path("files")))
      // The event of each put is handled a millisecond later, while the store is being closed.
      for number in 0..<(1 + round % 3) {
        let put = WriteBatch([.put(try KeyName("key \(number)"), Data("\(round)".utf8))])
        try await engine.commit(put, from: StoreOrigin())
      }
      try await engine.close()
      try #require(FileManager.default.fileExists(atPath: journal))
      #expect(!FileManager.default.fileExists(atPath: journal + "-wal"), "round \(round)")
    }
  }
}
