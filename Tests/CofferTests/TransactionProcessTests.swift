import Coffer
import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Transactions of several processes over the same keys.
@Suite(.blocking, .serialized) struct TransactionProcessTests {
  // Requirement 5.3
  @Test(arguments: ["sqlite", "file"])
  func theSumNeverChanges(scheme: String) async throws {
    let directory = try TemporaryDirectory()
    let location = try StoreLocation("\(scheme):\(directory.path("accounts"))")
    let store = TypedStore(engine: try await location.open())
    try await store.saveAll([("a", 500), ("b", 300), ("c", 200)])
    let count = scheme == "file" ? "15" : "120"
    let first = AsyncStream.makeStream(of: Void.self)
    let reading = Task { try await Self.watchSum(of: store) { first.continuation.yield() } }
    for await _ in first.stream { break }
    let helpers = try [("a", "b"), ("b", "c"), ("c", "a")].map { from, to in
      try HelperProcess(["transfer", "\(location)", count, from, to])
    }
    for helper in helpers {
      let lines = try helper.lines()
      #expect(lines.count == Int(count) && helper.wait() == 0, "\(lines.last ?? "")")
    }
    reading.cancel()
    let reads = try await reading.value
    #expect(reads > 0)
    // Each account has given away and received as many units.
    #expect(try await store.loadAll(Int.self, keys: ["a", "b", "c"] as [KeyName]) == [500, 300, 200])
    try await store.engine.close()
  }

  // Requirement 5.3
  @Test(arguments: [3, 8, 13])
  func aKilledProcessLeavesAllOfATransactionOrNothing(lines: Int) async throws {
    let directory = try TemporaryDirectory()
    let location = try StoreLocation("sqlite:\(directory.path("accounts.db"))")
    let store = TypedStore(engine: try await location.open())
    try await store.saveAll([("a", 500), ("b", 500)])
    let other = try HelperProcess(["transfer", "\(location)", "60", "b", "a"])
    let killed = try HelperProcess(["transfer", "\(location)", "1000000", "a", "b"])
    for _ in 0..<lines { #expect(try killed.line() != nil) }
    killed.kill()
    #expect(try other.lines().count == 60 && other.wait() == 0)
    let values = try await store.loadAll(Int.self, keys: ["a", "b"] as [KeyName]).compactMap { $0 }
    #expect(values.reduce(0, +) == 1_000)
    #expect(values[0] <= 560 - lines)
    try await store.engine.close()
  }

  /// Reads all accounts until the task is cancelled; returns the number of reads.
  private static func watchSum(of store: TypedStore, afterEach: @Sendable () -> Void) async throws -> Int {
    var reads = 0
    do {
      while !Task.isCancelled {
        let sum = try await store.transaction { transaction in
          var sum = 0
          for key in ["a", "b", "c"] as [KeyName] { sum += try await transaction.load(Int.self, for: key) ?? 0 }
          return sum
        }
        #expect(sum == 1_000)
        reads += 1
        afterEach()
      }
    } catch is CancellationError {}
    return reads
  }
}
