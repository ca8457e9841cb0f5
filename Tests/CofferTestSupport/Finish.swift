import Foundation

/// The long proofs run: `./run prove`.
package let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil

/// How many times longer than usual a test waits for what must happen: its deadline only ends a test that hangs.
package var patience: Int { isThreadSanitized ? 10 : 3 }

/// The task's value, or an error when it takes too long.
package func finish<R: Sendable>(_ task: Task<R, any Error>, within limit: Duration) async throws -> R {
  let watchdog = Task {
    try await Task.sleep(for: limit * patience)
    task.cancel()
  }
  defer { watchdog.cancel() }
  return try await task.value
}

package func finish<R: Sendable>(_ task: Task<R, Never>, within limit: Duration) async throws -> R {
  let watchdog = Task {
    try await Task.sleep(for: limit * patience)
    task.cancel()
  }
  defer { watchdog.cancel() }
  return await task.value
}

/// Whether the tests run under the thread sanitizer, where starting a process takes a second.
package var isThreadSanitized: Bool {
  #if COFFER_TSAN
    true
  #else
    false
  #endif
}
