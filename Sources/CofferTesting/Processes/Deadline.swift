/// The factor by which tests extend their deadlines, since a deadline only ends a test that hangs: 3, or 10 if the
/// package is built for the thread sanitizer with `COFFER_TSAN` in the environment.
public var patience: Int { isThreadSanitized ? 10 : 3 }

/// Waits for a task, and cancels it if it takes longer than `limit` times ``patience``.
///
/// ```swift
/// let commit = try await finish(Task { try await changes.next() }, within: .seconds(10))
/// ```
/// - Returns: The task's value.
/// - Throws: The error of the task, which is usually `CancellationError` if it was cancelled.
public func finish<R: Sendable, E: Error>(_ task: Task<R, E>, within limit: Duration) async throws -> R {
  let watchdog = Task {
    try await Task.sleep(for: limit * patience)
    task.cancel()
  }
  defer { watchdog.cancel() }
  return try await task.value
}

/// Whether the tests run under the thread sanitizer, where starting a process takes a second.
public var isThreadSanitized: Bool {
  #if COFFER_TSAN
    true
  #else
    false
  #endif
}
