import Dispatch
import Foundation

/// Calls back on signals, in place of what the system would do, for as long as it lives.
package final class Signals {
  private let numbers: [Int32]
  private let sources: [any DispatchSourceSignal]

  package init(_ numbers: [Int32], _ handler: @escaping @Sendable () -> Void) {
    self.numbers = numbers
    sources = numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler(handler: handler)
      source.activate()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
    for number in numbers { signal(number, SIG_DFL) }
  }
}

/// Runs `body` as a task that Ctrl-C and SIGTERM cancel, so that it can end in good order. A second one does not wait:
/// every commit is whole or not at all, so that nothing is torn.
package func interruptible<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
  let task = Task { try await body() }
  let signals = Signals([SIGINT, SIGTERM]) {
    if task.isCancelled { _exit(ExitStatus.interrupted.rawValue) }
    task.cancel()
  }
  defer { withExtendedLifetime(signals) {} }
  return try await task.value
}

/// Calls back when the reader of standard output leaves, as `head` does, even while there is nothing to write.
package func whenReaderLeaves(_ handler: @escaping @Sendable () -> Void) {
  var status = stat()
  guard fstat(STDOUT_FILENO, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) else { return }
  let thread = Thread {
    var wait = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    repeat { wait.revents = 0 } while poll(&wait, 1, -1) < 0 && errno == EINTR
    if wait.revents & Int16(POLLERR | POLLHUP) != 0 { handler() }
  }
  thread.name = "terminal.output"
  thread.start()
}
