/// How many times longer than it asks for a test waits, since a deadline only ends a test that hangs: 3, and 10 where
/// the package is built for the thread sanitizer with `COFFER_TSAN` in the environment.
public var patience: Int { isThreadSanitized ? 10 : 3 }

/// Waits for a task, which is cancelled when it takes longer than `limit` times ``patience``.
///
/// ```swift
/// let commit = try await finish(Task { try await changes.next() }, within: .seconds(10))
/// ```
/// - Returns: The task's value.
/// - Throws: What the task throws; `CancellationError` from most that are cancelled.
public func finish<R: Sendable>(_ task: Task<R, any Error>, within limit: Duration) async throws -> R {
  let watchdog = Task {
    try await Task.sleep(for: limit * patience)
    task.cancel()
  }
  defer { watchdog.cancel() }
  return try await task.value
}

/// Waits for a task that throws nothing, which is cancelled when it takes longer than `limit` times ``patience``.
public func finish<R: Sendable>(_ task: Task<R, Never>, within limit: Duration) async throws -> R {
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
