import CofferTesting
import Foundation
import Testing

@Suite("A program that a test runs")
struct RunningProgramTests {
  @Test("is ended by a signal that the thread of the test blocks", arguments: [SIGTERM, SIGINT])
  func signals(number: Int32) async throws {
    let directory = try TemporaryDirectory()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "echo started; exec sleep 60"]
    let running = try blocking(number) { try RunningProgram(process, in: directory.url, deadline: 50) }
    try await eventually("the program starts") { try !running.output().isEmpty }
    running.signal(number)
    let ended = try await running.ended()
    #expect(ended.status == 128 + number)
  }

  @Test("may have ended when it is told a line")
  func ended() throws {
    let helper = try HelperProcess([], executable: "CofferTestHelper", by: ["/bin/true"])
    #expect(helper.wait() == 0)
    for _ in 0..<2 { helper.tell("nobody reads this") }
  }

  /// Calls a function while this thread blocks a signal, which it does afterwards only if it did before.
  private func blocking<R>(_ number: Int32, _ body: () throws -> R) rethrows -> R {
    var (signals, before, after) = (sigset_t(), sigset_t(), sigset_t())
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_BLOCK, &signals, &before)
    defer {
      pthread_sigmask(SIG_SETMASK, &before, &after)
      #expect(sigismember(&after, number) == 1)
    }
    return try body()
  }
}
