import CofferTesting
import Foundation
import WatchifyTestSupport

extension PrivateBus {
  /// Starts a bus.
  /// - Parameter server: the program that the bus activates as a notification server.
  static func start(server: String? = nil) async throws -> PrivateBus {
    try await onThread { try PrivateBus(server: server) }
  }

  /// Ends the bus and waits for its end.
  func stop() async throws { try await onThread { try self.end() } }
}
