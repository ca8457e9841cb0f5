import Dispatch
import Foundation

/// Calls back on signals, in place of what the system would do, for as long as it lives.
///
/// ```swift
/// let signals = Signals([SIGINT, SIGTERM]) { continuation.finish() }
/// defer { withExtendedLifetime(signals) {} }
/// for await event in events { try show(event) }
/// ```
///
/// With its last reference, the signals get back the actions that they had before, so instances can be nested: each is
/// called. ``interruptible(_:)`` does all that most commands need.
public final class Signals {
  private var before: [(number: Int32, action: sig_t?)] = []
  private var sources: [any DispatchSourceSignal] = []

  /// Begins to call back.
  ///
  /// - Parameters:
  ///   - numbers: the signals, such as `SIGINT`.
  ///   - handler: called on a global queue for each signal. Several that come at once may be one call.
  public init(_ numbers: [Int32], _ handler: @escaping @Sendable () -> Void) {
    for number in numbers {
      before.append((number, signal(number, SIG_IGN)))
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler(handler: handler)
      source.activate()
      sources.append(source)
    }
  }

  deinit {
    for source in sources { source.cancel() }
    for (number, action) in before.reversed() { signal(number, action) }
  }
}

/// Runs `body` as a task that Ctrl-C and SIGTERM cancel, so that it can end in good order.
///
/// A second Ctrl-C or SIGTERM ends the process at once, with ``ExitStatus/interrupted`` and without any cleaning up.
///
/// ```swift
/// return try await interruptible {
///   do {
///     for file in files {
///       try Task.checkCancellation()
///       try await upload(file)
///     }
///     return .ok
///   } catch is CancellationError {
///     throw CommandError(.interrupted, "interrupted", "Interrupted: what was uploaded stays.")
///   }
/// }
/// ```
///
/// The task is cancelled by signals alone, not with the task that waits for it.
///
/// - Returns: What `body` returns.
/// - Throws: What `body` throws.
public func interruptible<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
  let task = Task { try await body() }
  let signals = Signals([SIGINT, SIGTERM]) {
    if task.isCancelled { _exit(ExitStatus.interrupted.rawValue) }
    task.cancel()
  }
  defer { withExtendedLifetime(signals) {} }
  return try await task.value
}

/// Calls back when the reader of standard output leaves, as `head` does, even while there is nothing to write.
///
/// Where standard output is no pipe or socket, nothing happens. A command that waits for events needs it; any other
/// finds out when it writes: ``OutputClosed``.
///
/// - Parameter handler: called once at most, on a thread of its own.
public func whenReaderLeaves(_ handler: @escaping @Sendable () -> Void) {
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
