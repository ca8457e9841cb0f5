package import Foundation

/// Runs a blocking closure on a dispatch queue instead of Swift's cooperative thread pool.
package func runBlocking<R: Sendable>(
  on queue: DispatchQueue = .global(), _ body: @escaping @Sendable () throws -> R
) async throws -> R {
  // The lock is for the thread sanitizer: it does not see that a continuation resumed before it is awaited orders its
  // two sides.
  let result = Locked<Result<R, any Error>?>(nil)
  await withCheckedContinuation { continuation in
    queue.async {
      let found = Result { try body() }
      result.withLock { $0 = found }
      continuation.resume()
    }
  }
  guard let result = result.withLock({ $0 }) else { throw CancellationError() }
  return try result.get()
}

extension DispatchQueue {
  /// Runs a closure, which may block, on this queue, and returns its result.
  package func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      async { continuation.resume(with: Result { try body() }) }
    }
  }
}
