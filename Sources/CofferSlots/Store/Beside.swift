import CofferLocks
import Foundation

/// Runs what blocks for long beside the threads that tasks share.
package func beside<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  // Handed over under a lock, for the thread sanitizer: it does not see that a continuation, resumed before anybody
  // waits for it, orders its two sides.
  let result = Locked<Result<R, any Error>?>(nil)
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async {
      let found = Result { try body() }
      result.withLock { $0 = found }
      continuation.resume()
    }
  }
  guard let result = result.withLock({ $0 }) else { throw CancellationError() }
  return try result.get()
}
