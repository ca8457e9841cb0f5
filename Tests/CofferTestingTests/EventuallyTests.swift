import CofferTesting
import Testing

@Suite("Waiting for a condition")
struct EventuallyTests {
  @Test("ends once it holds, and with its error")
  func holds() async throws {
    var looks = 0
    try await eventually("the third look") {
      looks += 1
      return looks == 3
    }
    #expect(looks == 3)
    await #expect(throws: TestFailure.self) { try await eventually("an error") { throw TestFailure("no") } }
  }

  @Test("ends once it holds in a function that is not asynchronous")
  func holdsAtOnce() throws {
    var looks = 0
    try blockUntil("the third look") {
      looks += 1
      return looks == 3
    }
    #expect(looks == 3)
  }

  @Test("ends when the task is cancelled")
  func cancelled() async {
    let waiting = Task { try await eventually("nothing") { false } }
    let hanging = Task { try await hang() }
    for task in [waiting, hanging] {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }
}
