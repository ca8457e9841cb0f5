import Coffer
import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

/// More subscribers and readers than a store has connections: they queue, and none fails.
@Suite(.serialized) struct ManySubscribersTests {
  /// The latest value that each subscriber has read, and how each subscription ended.
  private final class Board: Sendable {
    private let state = Locked<(last: [Int: String], failures: [String])>(([:], []))

    func note(_ index: Int, _ value: String?) { state.withLock { $0.last[index] = value } }
    func fail(_ error: any Error) { state.withLock { $0.failures.append("\(error)") } }
    var failures: [String] { state.withLock { $0.failures } }

    /// Waits until all subscribers have read a value.
    func wait(for value: String, _ count: Int) async throws {
      try await eventually("'\(value)' is read by all") {
        let (seen, failures) = state.withLock { ($0.last.values.count { $0 == value }, $0.failures) }
        if let failure = failures.first { throw TestFailure("\(failures.count) of \(count) ended: \(failure)") }
        return seen == count
      }
    }
  }

  @Test func aHundredStreamsOverPreferencesAllGoOn() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let store = TypedStore(engine: engine)
    let count = 100
    for round in 0..<3 {
      let value = "before \(round)"
      try await store.save(value, for: "theme")
      let board = Board()
      let tasks = (0..<count).map { index in
        Task {
          do {
            for await value in try store.values(of: "theme", as: String.self) { board.note(index, try value.get()) }
          } catch {
            board.fail(error)
          }
        }
      }
      defer { for task in tasks { task.cancel() } }
      try await board.wait(for: value, count)
      try await store.save("after \(round)", for: "theme")
      try await board.wait(for: "after \(round)", count)
      #expect(board.failures == [])
    }
    try await engine.close()
  }

  @Test func aHundredListingsAtOnceAllSucceed() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let store = TypedStore(engine: engine)
    try await store.save("dark", for: "theme")
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<300 {
        group.addTask { try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 10) }.count }
      }
      for try await count in group { #expect(count == 1) }
    }
    try await engine.close()
  }
}
