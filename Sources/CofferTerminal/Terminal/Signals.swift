import Dispatch
import Foundation

/// A handler of signals that replaces their default actions until it is deallocated.
///
/// ```swift
/// let signals = Signals([SIGINT, SIGTERM]) { continuation.finish() }
/// defer { withExtendedLifetime(signals) {} }
/// for await event in events { try show(event) }
/// ```
///
/// When it is deallocated, the previous actions of the signals are restored. Instances can be nested; the handler of
/// each is called. ``interruptible(_:)`` is sufficient for most commands.
public final class Signals {
  private let numbers: [Int32]
  private let identifier: Int

  /// Installs a handler for signals.
  ///
  /// - Parameters:
  ///   - numbers: the signals, such as `SIGINT`.
  ///   - handler: called on a global queue for each signal. Signals in quick succession may be combined into one call.
  public init(_ numbers: [Int32], _ handler: @escaping @Sendable () -> Void) {
    self.numbers = numbers
    identifier = SignalSources.add(numbers, handler)
  }

  deinit { SignalSources.remove(numbers, identifier) }
}

/// Runs `body` as a task that Ctrl-C and SIGTERM cancel, so that it can end in an orderly way.
///
/// A second Ctrl-C or SIGTERM ends the process immediately, with ``ExitStatus/interrupted`` and without cleanup.
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
///     throw CommandError(.interrupted, "interrupted", "Interrupted: the uploaded files are kept.")
///   }
/// }
/// ```
///
/// Only signals cancel the task; cancellation of the calling task does not.
///
/// - Returns: The result of `body`.
/// - Throws: The error of `body`.
public func interruptible<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
  let task = Task { try await body() }
  let signals = Signals([SIGINT, SIGTERM]) {
    if task.isCancelled { _exit(ExitStatus.interrupted.rawValue) }
    task.cancel()
  }
  defer { withExtendedLifetime(signals) {} }
  return try await task.value
}

/// Calls a handler when the reader of standard output closes the pipe, as `head` does, even while nothing is written.
///
/// Does nothing if standard output is not a pipe or socket. Only commands that wait for events need it: others detect a
/// closed pipe when they write.
///
/// - Parameter handler: called at most once, on a separate thread.
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
