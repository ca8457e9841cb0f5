import CofferLocks

/// The owner of the clients over one store: it restores them when they are created and saves their edits.
///
/// ```swift
/// let session = ClientSession(engine: engine)
/// let preferences = try await session.start { UserPreferencesClient(persistence: $0) }
/// preferences.client.theme = .dark    // stored 0.3 s later, together with all other edits
/// try await session.save()            // or now
/// ```
///
/// All edits of an interval are one commit, which contains only the values that have changed. What another process
/// changes is restored into the clients; an edit that is not saved yet is kept, and replaces the value of the other
/// process when it is saved. An edit that could not be saved stays pending and is tried again after each interval, but
/// not after the engine was closed; ``PersistedClient/lastError`` states why.
///
/// A client is restored and saved for as long as the engine is open, even if the session is released before.
///
/// Edits are in memory for up to the interval. ``saveAtTermination()`` saves them when the process ends or is stopped.
public final class ClientSession: Sendable {
  let saver: ClientSaver
  private let codec: any StoreCodec

  /// Creates a session.
  /// - Parameters:
  ///   - engine: the engine that stores the state. The session does not close it.
  ///   - interval: the time from the first edit to the commit.
  ///   - clock: the clock of the interval.
  ///   - codec: the codec of values other than `Data` and `String`.
  ///   - patience: the time that a client has to return from `restoreState()` or `persistState()`. Then the others are
  ///     saved without it, and its ``PersistedClient/lastError`` is `busy`; its edits are saved once it has returned.
  public init(
    engine: any StorageEngine, interval: Duration = .milliseconds(300), clock: any Clock<Duration> = ContinuousClock(),
    codec: any StoreCodec = JSONCodec(sortedKeys: true), patience: Duration = .seconds(5)
  ) {
    self.codec = codec
    let store = TypedStore(engine: engine, codec: codec)
    let saver = ClientSaver(store: store, interval: interval, clock: clock, patience: patience)
    self.saver = saver
    // Subscribed before the first client is restored, so that no change falls between the two.
    let changes = engine.changes(since: nil)
    Task.detached { [weak saver] in
      for await change in changes { await saver?.restore(after: change) }
    }
  }

  /// Creates a client and restores its stored state.
  /// - Parameters:
  ///   - prefix: the text before the keys of the client; needed if several clients have the same keys.
  ///   - create: creates the client with the persistence that it must use.
  /// - Returns: The client. If its state could not be read, ``PersistedClient/state`` is `failed`, and its edits are
  ///   kept in memory until a later attempt succeeds.
  /// - Throws: Any error of `create`; `StorageError`: `invalidKey` for a key that is empty or too long, `unsupported`
  ///   if another client of the session has one of its keys.
  public func start<C: Persistable>(
    prefix: String = "", _ create: (ClientPersistence) throws -> C
  ) async throws -> PersistedClient<C> {
    let persistence = ClientPersistence(store: saver.store, prefix: prefix)
    let keys = try Set(C.persistedKeys.map { try StoreKey(prefix + $0) })
    let client = PersistedClient(try create(persistence), persistence, keys: keys)
    try await saver.add(client)
    return client
  }

  /// Whether there are edits that are not stored yet.
  public var hasPendingEdits: Bool { saver.hasPendingEdits }

  /// Saves all edits now. Clients that could not be loaded are loaded first.
  ///
  /// A client whose values cannot be stored does not keep back the others, which are then saved in one commit each;
  /// ``PersistedClient/lastError`` is its error, with the key.
  /// - Throws: The first `StorageError`. What could not be saved stays pending. `unsupported` for a call in
  ///   `persistState()` or `restoreState()` of a client.
  public func save() async throws { try await saver.save() }

  /// Saves the edits of this session when the process ends by `exit`, `SIGTERM` or `SIGINT`, and when it is stopped by
  /// `SIGTSTP`.
  ///
  /// The process's own actions for these signals are performed afterwards: its handlers are called, and without one the
  /// process ends by the signal. A signal that is ignored stays ignored. Set other handlers before this call. Saving
  /// may take a few seconds; a device that does not answer cannot keep the process from ending. `SIGKILL` and `_exit`
  /// lose the edits since the last interval.
  ///
  /// Call ``save()`` before an `exit` in asynchronous code on the main actor if clients are isolated to the main actor:
  /// they cannot be asked while it is blocked by `exit`. The other clients are saved, and the loss is stated on
  /// standard error.
  public func saveAtTermination() { ProcessTermination.shared.add(saver) }
}
