import CofferCore

/// A client in a ``ClientSession``, with the error of its last save. Its properties hold the session and the session's
/// store: a client that was started lives as long as the process.
public struct PersistedClient<C: Persistable>: Sendable {
  /// The client.
  public let client: C
  let saved: SavedClient

  /// The error of the last save, whose edits are still pending; `nil` after a save that has succeeded.
  public var lastError: StorageError? { saved.lastError }
}

/// A client of a session, whatever its type.
final class SavedClient: Sendable {
  private let client: any Persistable
  private let persistence: ClientPersistence
  private let error = Locked<StorageError?>(nil)

  init(_ client: any Persistable, _ persistence: ClientPersistence) {
    (self.client, self.persistence) = (client, persistence)
  }

  var lastError: StorageError? { error.withLock { $0 } }

  /// Restores the client. What it would save now is known and not written: neither defaults of what is not stored, nor
  /// other bytes for an equal value.
  /// - Throws: any error of the client, and that of a load, even if the client has handled it: a default must not
  ///   replace what could not be read.
  func restore() async throws {
    try await client.restoreState()
    if let failure = await persistence.failure { throw failure }
    await persistence.note(try await ClientRound.collect(from: client, persistence))
  }

  /// Returns the values that have changed since the last save.
  func collect() async throws -> ClientRound.Values {
    await persistence.changes(in: try await ClientRound.collect(from: client, persistence))
  }

  func succeeded(_ values: ClientRound.Values) async {
    await persistence.note(values)
    error.withLock { $0 = nil }
  }

  /// Notes that it is unknown whether the values are stored.
  func attempted(_ values: ClientRound.Values) async { await persistence.forget(values) }

  func failed(_ error: StorageError) { self.error.withLock { $0 = error } }
}
