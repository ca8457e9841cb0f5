import Foundation

/// Runs a blocking closure on a separate thread.
public func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "watchify.tests").async { continuation.resume(with: Result { try body() }) }
  }
}
