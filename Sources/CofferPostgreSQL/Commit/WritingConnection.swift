import CofferCore
import Foundation

/// A connection that commits, with the row of `writers` by which a lost commit is resolved.
final class WritingConnection: Sendable {
  let server: ServerConnection
  /// The identifier of the connection's row in `writers`.
  let writer: UUID
  /// The number of the last attempt that was committed, which only the task that has borrowed the connection uses.
  let attempt: Locked<Int64>

  /// - Parameter writer: the identifier of a row that ``register(_:on:within:)`` has added.
  init(_ server: ServerConnection, writer: UUID) {
    (self.server, self.writer) = (server, writer)
    attempt = Locked(0)
  }

  private static let register = ServerStatement(
    "INSERT INTO coffer.writers (writer, attempt, revision, is_fenced) VALUES ($1, 0, 0, false)", [.uuid])
  private static let forget = ServerStatement("DELETE FROM coffer.writers WHERE writer = $1", [.uuid])

  /// Adds the row of a writer, in a transaction that waits for the standbys.
  static func register(
    _ writer: UUID, on server: ServerConnection, within: Duration
  ) async throws(ExchangeFailure) {
    try await server.transact([ServerCall(register, [.uuid(writer)])], within: within)
  }

  /// Removes the row of an idle connection, and closes it.
  func close(within: Duration) async {
    // An error leaves a row that upkeep removes later.
    _ = try? await server.transact([ServerCall(Self.forget, [.uuid(writer)])], within: within)
    await server.close()
  }
}
