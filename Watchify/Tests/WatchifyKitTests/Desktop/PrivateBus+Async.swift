import CofferTesting
import Foundation

extension PrivateBus {
  /// Starts a bus.
  /// - Parameter server: the program that the bus activates as a notification server.
  static func start(server: String? = nil) async throws -> PrivateBus {
    try await onThread { try PrivateBus(server: server) }
  }

  /// Ends the bus and waits for its end.
  func stop() async throws { try await onThread { try self.end() } }
}

/// Runs a blocking closure on a separate thread.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "watchify.tests").async { continuation.resume(with: Result { try body() }) }
  }
}
