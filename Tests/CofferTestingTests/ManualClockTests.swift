import CofferCore
import CofferTesting
import Testing

@Suite("A manual clock advances only by request")
struct ManualClockTests {
  private let clock = ManualClock()

  @Test("the current instant changes only by advance(by:)")
  func now() {
    #expect(clock.now == ManualClock.Instant())
    clock.advance(by: .seconds(3))
    clock.advance(by: .zero)
    #expect(clock.now.offset == .seconds(3))
  }

  @Test("a deadline that has passed does not sleep")
  func past() async throws {
    clock.advance(by: .seconds(3))
    try await clock.sleep(until: ManualClock.Instant(offset: .seconds(3)), tolerance: nil)
    try await clock.sleep(for: .zero)
    #expect(clock.sleeperCount == 0)
  }

  @Test("only tasks whose deadline has been reached are resumed")
  func order() async throws {
    let clock = clock
    let tasks = [3, 1, 2].map { seconds in
      Task { try await clock.sleep(for: .seconds(seconds)) }
    }
    await clock.waitForSleepers(3)
    for (step, task) in [(2, tasks[1]), (1, tasks[2]), (0, tasks[0])] {
      clock.advance(by: .seconds(1))
      #expect(clock.sleeperCount == step)
      try await task.value
    }
  }

  @Test("a cancelled task ends its sleep with an error, before or during it")
  func cancel() async throws {
    let clock = clock
    let asleep = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.waitForSleepers()
    asleep.cancel()
    await #expect(throws: CancellationError.self) { try await asleep.value }
    let early = Task {
      while !Task.isCancelled { await Task.yield() }
      try await clock.sleep(for: .seconds(1))
    }
    early.cancel()
    await #expect(throws: CancellationError.self) { try await early.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test("waiting for sleepers ends when it is cancelled")
  func cancelWait() async {
    let clock = clock
    let task = Task { await clock.waitForSleepers(1) }
    task.cancel()
    await task.value
  }
}
