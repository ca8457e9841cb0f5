import CofferCore
import CofferFiles
import CofferTestTraits
import Foundation
import Testing

/// Reads of keys whose first value is being published.
@Suite(.blocking) struct FirstValueTests {
  /// The row of the key may be committed between the reader's look at the journal and its look at the file.
  @Test func aFirstValueThatIsBeingPublishedIsNotAFailedRemoval() async throws {
    let directory = try StoreDirectory()
    let (engine, other) = (try await directory.open(), try await directory.open())
    for round in 0..<40 {
      let key = try KeyName("key \(round)")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in [engine, other] {
          for number in 0..<4 {
            group.addTask {
              let batch = WriteBatch([.put(key, Data("\(number)".utf8))], durability: .relaxed)
              try await writer.commit(batch, from: StoreOrigin())
            }
          }
        }
        for reader in [engine, other] {
          group.addTask { for _ in 0..<8 { _ = try await reader.entry(key) } }
          group.addTask {
            for _ in 0..<4 { try await reader.withSnapshot { _ = try await $0.entries([key]) } }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await engine.entry(key)?.value.count == 1)
    }
    try await other.close()
    try await engine.close()
  }
}
