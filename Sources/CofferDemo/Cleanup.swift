import Coffer
import CofferCore
import Foundation

/// The resources that must not outlive the program: its child process and its temporary folder.
enum Cleanup {
  private struct State {
    var child: Int32?
    var folder: URL?
    var sources: [any DispatchSourceSignal] = []
  }

  private static let state = Locked(State())

  static func watch(child: Int32?) { state.withLock { $0.child = child } }
  static func remove(_ folder: URL) { state.withLock { $0.folder = folder } }

  static func run() {
    let (child, folder) = state.withLock { state in
      defer { (state.child, state.folder) = (nil, nil) }
      return (state.child, state.folder)
    }
    if let child { kill(child, SIGKILL) }
    if let folder { try? FileManager.default.removeItem(at: folder) }
  }

  static func exit(_ code: Int32) -> Never {
    run()
    Foundation.exit(code)
  }

  /// Cleans up when the program is interrupted, or when it takes longer than `seconds`.
  static func guardProcess(limit seconds: Int) {
    signal(SIGPIPE, SIG_IGN)  // The failing write returns an error instead.
    let queue = DispatchQueue(label: "coffer-demo.signals")
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number, SIG_IGN)
      state.withLock { state in
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { exit(128 + number) }
        source.resume()
        state.sources.append(source)
      }
    }
    queue.asyncAfter(deadline: .now() + .seconds(seconds)) {
      write("error: the demonstration took longer than \(seconds) seconds and was stopped.\n", to: STDERR_FILENO)
      exit(1)
    }
  }
}

/// Runs `body`, which must support cancellation, for at most `limit`.
/// - Throws: `DemoError` with `what` when the limit is exceeded.
func within<R: Sendable>(
  _ limit: Duration, _ what: String, _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  try await withThrowingTaskGroup(of: R.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      throw DemoError("timed out after \(limit) while waiting for \(what)")
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { throw CancellationError() }
    return first
  }
}
