/// A client of a session, whatever its type.
final class SavedClient: Sendable {
  private let client: any Persistable
  private let persistence: ClientPersistence

  init(_ client: any Persistable, _ persistence: ClientPersistence) {
    (self.client, self.persistence) = (client, persistence)
  }

  /// Restores the client. What it would save now is known and not written: neither defaults of what is not stored, nor
  /// other bytes for an equal value.
  /// - Throws: any error of the client, and that of a load, even if the client has handled it: a default must not
  ///   replace what could not be read.
  func restore() async throws {
    try await client.restoreState()
    if let failure = await persistence.failure { throw failure }
    await succeeded(try await ClientRound.collect(from: client, persistence))
  }

  /// Returns the values that have changed since the last save.
  func collect() async throws -> ClientRound.Values {
    await persistence.changes(in: try await ClientRound.collect(from: client, persistence))
  }

  /// Notes that the values are stored.
  func succeeded(_ values: ClientRound.Values) async { await persistence.note(values) }

  /// Notes that it is unknown whether the values are stored.
  func attempted(_ values: ClientRound.Values) async { await persistence.forget(values) }
}
