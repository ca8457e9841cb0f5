import Coffer
import CofferCore

/// The owner of the clients over one store: it restores them when they are created and saves their edits.
///
/// ```swift
/// let session = ClientSession(engine: engine)
/// let preferences = try await session.start { UserPreferencesClient(persistence: $0) }
/// preferences.theme = .dark    // stored 0.3 s later, together with all other edits
/// try await session.save()            // or now
/// ```
///
/// All edits of an interval are one commit, which contains only the values that have changed. An edit that could not be
/// saved stays pending and is tried again after each interval, but not after the engine was closed;
/// ``lastError`` states why. A client is saved even if the session is released before.
///
/// Edits are in memory for up to the interval: call ``save()`` before the process ends.
public final class ClientSession: Sendable {
  private struct State {
    var keys: Set<KeyName> = []
    var edited: [ObjectIdentifier: SavedClient] = [:]
    var isSaving = false
    var error: StorageError?
    var isTimerRunning = false
  }

  private let store: TypedStore
  private let interval: Duration
  private let clock: any Clock<Duration>
  private let state = Locked(State())
  private let turns = KeyedQueue()
  private let turn: KeyName = "turn"

  /// Creates a session.
  /// - Parameters:
  ///   - engine: the engine that stores the state. The session does not close it.
  ///   - interval: the time from the first edit to the commit.
  ///   - clock: the clock of the interval.
  ///   - codec: the codec of values other than `Data` and `String`.
  public init(
    engine: any StorageEngine, interval: Duration = .milliseconds(300), clock: any Clock<Duration> = ContinuousClock(),
    codec: any StoreCodec = JSONCodec(sortedKeys: true)
  ) {
    store = TypedStore(engine: engine, codec: codec)
    (self.interval, self.clock) = (interval, clock)
  }

  /// Creates a client and restores its stored state.
  /// - Parameters:
  ///   - prefix: the text before the keys of the client; needed if several clients have the same keys.
  ///   - create: creates the client with the persistence that it must use.
  /// - Returns: The client, with its stored state. Its properties hold the session and the session's store: they live
  ///   as long as the client.
  /// - Throws: Any error of `create`, `restoreState()` and `persistState()`, also that of a load that the client has
  ///   handled. Nothing was written then, and the client can be started again. `StorageError`: `invalidKey` for a key
  ///   that is empty or too long, `unsupported` if another client of the session has one of its keys, or it saves a key
  ///   that is not among its `persistedKeys`.
  public func start<C: Persistable>(
    prefix: String = "", _ create: (ClientPersistence) throws -> C
  ) async throws -> C {
    let keys = try Set(C.persistedKeys.map { try KeyName(prefix + $0) })
    try reserve(keys)
    do {
      let persistence = ClientPersistence(store: store, prefix: prefix, keys: keys)
      let client = try create(persistence)
      let saved = SavedClient(client, persistence)
      try await saved.restore()
      // The properties hold the session, so that their edits are saved even if it is released.
      observeEdits(of: client) { self.edited(saved) }
      return client
    } catch {
      state.withLock { $0.keys.subtract(keys) }
      throw error
    }
  }

  private func reserve(_ keys: Set<KeyName>) throws {
    let taken = state.withLock { state -> KeyName? in
      if let key = keys.first(where: state.keys.contains) { return key }
      state.keys.formUnion(keys)
      return nil
    }
    guard let taken else { return }
    throw StorageError(
      .unsupported, "Another client of this session has the same key.",
      advice: "Give each client its own prefix. Nothing was changed.", location: store.engine.description, key: taken)
  }

  private func edited(_ client: SavedClient) {
    let begins = state.withLock { state in
      state.edited[ObjectIdentifier(client)] = client
      defer { state.isTimerRunning = true }
      return !state.isTimerRunning
    }
    guard begins else { return }
    Task.detached { [self] in
      try? await clock.sleep(for: interval)
      state.withLock { $0.isTimerRunning = false }
      try? await save()
    }
  }

  /// The first error of the last save, with the key, whose edits are still pending; `nil` after a save that has
  /// succeeded.
  public var lastError: StorageError? { state.withLock { $0.error } }

  /// Whether there are edits that are not stored yet.
  public var hasPendingEdits: Bool { state.withLock { !$0.edited.isEmpty || $0.isSaving } }

  /// Saves all edits now, also if the task is cancelled meanwhile.
  ///
  /// A client whose values cannot be stored does not keep back the others, which are then saved in one commit each.
  /// - Throws: The first `StorageError`. What could not be saved stays pending. `unsupported` for a call in
  ///   `persistState()` of a client. `CancellationError` if the task was cancelled while it waited for another save.
  public func save() async throws {
    guard ClientRound.current?.isOpen != true else {
      throw StorageError(
        .unsupported, "A client saves its session while the session saves it.",
        advice: "Remove the call: the session saves its clients itself. Nothing was changed.",
        location: store.engine.description)
    }
    let failure = try await turns.run(turn) {
      // Without the task-local values of whoever saves first, and whether or not it is cancelled.
      await Task.detached { await self.saveInTurn() }.value
    }
    if let failure { throw failure }
  }

  private func saveInTurn() async -> StorageError? {
    let clients = state.withLock { state in
      defer { (state.edited, state.isSaving) = ([:], true) }
      return state.edited.values
    }
    var failure: StorageError?
    // After those that failed are among the edited ones again.
    defer { state.withLock { ($0.isSaving, $0.error) = (false, failure) } }
    func fail(_ client: SavedClient, _ error: any Error) {
      let error = StoredError.storage(error)
      failure = failure ?? error
      keep(client, error)
    }
    var saves: [(client: SavedClient, values: ClientRound.Values)] = []
    for client in clients {
      do { saves.append((client, try await client.collect())) } catch { fail(client, error) }
    }
    // If the common commit is refused for what it contains, each client gets its own.
    var groups = [saves]
    while let group = groups.popLast() {
      do {
        try await write(group.flatMap { $0.values })
        for save in group { await save.client.succeeded(save.values) }
      } catch {
        for save in group { await save.client.attempted(save.values) }
        if group.count > 1, StoredError.storage(error).isAboutContent {
          groups += group.map { [$0] }
        } else {
          for save in group { fail(save.client, error) }
        }
      }
    }
    return failure
  }

  /// Keeps the edits of a client for the next attempt, which the timer makes unless the store is closed.
  private func keep(_ client: SavedClient, _ error: StorageError) {
    if error.code == .closed {
      state.withLock { $0.edited[ObjectIdentifier(client)] = client }
    } else {
      edited(client)
    }
  }

  /// Writes values in one commit, or one by one over an engine without atomic batches.
  private func write(_ values: [(key: KeyName, value: EncodedValue?)]) async throws {
    let batches = store.engine.capabilities.contains(.atomicBatches) ? [values] : values.map { [$0] }
    for batch in batches where !batch.isEmpty {
      let operations = batch.map { key, value -> WriteBatch.Operation in
        value.map { .put(key, $0.data, $0.attributes) } ?? .delete(key)
      }
      try await store.commit(WriteBatch(operations), batch.map { ($0.key, $0.value.map { Box($0) }) })
    }
  }
}
