import CofferLocks

/// Saves the edits of all clients of a session: one timer, and one commit for each interval.
final class ClientSaver: Sendable {
  private struct State {
    var clients: [UInt64: any SavedClient] = [:]
    var keys: Set<StoreKey> = []
    var edited: Set<UInt64> = []
    /// The clients whose edits are being stored.
    var saving: Set<UInt64> = []
    var isTimerRunning = false
    var nextID: UInt64 = 0
  }

  let store: TypedStore
  private let interval: Duration
  private let clock: any Clock<Duration>
  private let state = Locked(State())
  private let turns = KeyedQueue()
  private let turn: StoreKey = "turn"

  init(store: TypedStore, interval: Duration, clock: any Clock<Duration>) {
    (self.store, self.interval, self.clock) = (store, interval, clock)
  }

  /// Whether there are edits that are not stored yet.
  var hasPendingEdits: Bool { state.withLock { !$0.edited.isEmpty || !$0.saving.isEmpty } }

  /// Restores a client and saves its edits from now on.
  /// - Throws: `StorageError` with code `unsupported` if another client of the session has one of its keys.
  func add(_ client: any SavedClient) async throws {
    let taken = state.withLock { state -> StoreKey? in
      if let key = client.keys.first(where: { state.keys.contains($0) }) { return key }
      state.keys.formUnion(client.keys)
      return nil
    }
    if let taken {
      throw StorageError(
        .unsupported, "Another client of this session has the same key.",
        advice: "Give each client its own prefix. Nothing was changed.", location: store.engine.description, key: taken)
    }
    let id = state.withLock { state in
      state.nextID += 1
      state.clients[state.nextID] = client
      return state.nextID
    }
    // Edits of a client that is loading are pending: the timer begins with the first of them.
    // The clients hold the saver, so that their edits are saved even if the session is released.
    if client.attach({ self.edited(id) }) { edited(id) }
    do { try await inTurn { await client.restore() } } catch {
      // The caller has no client, so that its keys are free again.
      state.withLock { state in
        state.clients[id] = nil
        state.edited.remove(id)
        state.keys.subtract(client.keys)
      }
      throw error
    }
  }

  private func edited(_ id: UInt64) {
    let begins = state.withLock { state in
      state.edited.insert(id)
      defer { state.isTimerRunning = true }
      return !state.isTimerRunning
    }
    if begins { startTimer() }
  }

  /// Saves after the interval. The task holds the saver, so that edits are saved even if the session is released.
  private func startTimer() {
    Task.detached { [self] in
      try? await clock.sleep(for: interval)
      state.withLock { $0.isTimerRunning = false }
      _ = try? await save()
    }
  }

  private func inTurn<R>(_ body: () async throws -> R) async throws -> R { try await turns.run(turn, body) }

  /// Restores the clients whose keys another writer has changed.
  func restore(after change: StoreChange) async {
    if case .commit(let commit) = change, commit.origin == store.origin { return }
    let clients = state.withLock { Array($0.clients.values) }
    for client in clients where client.isAffected(by: change) {
      try? await inTurn { await client.restore() }
    }
  }

  /// Saves all edits so far in one commit. What cannot be saved stays pending and is tried again after the interval.
  /// - Throws: The first error.
  func save() async throws {
    let failure = try await inTurn { await saveInTurn() }
    if let failure { throw failure }
  }

  private func saveInTurn() async -> StorageError? {
    let edited = state.withLock { state in
      (state.saving, state.edited) = (state.edited, [])
      return state.saving.sorted().compactMap { id in state.clients[id].map { (id, $0) } }
    }
    // After those that failed are among the edited ones again.
    defer { state.withLock { $0.saving = [] } }
    var saves: [(id: UInt64, client: any SavedClient, save: ClientSave)] = []
    var failure: StorageError?
    for (id, client) in edited {
      do {
        saves.append((id, client, try await client.collect()))
      } catch {
        let error = StoredError.storage(error)
        failure = failure ?? error
        fail(id, client, error)
      }
    }
    do {
      try await write(saves.flatMap(\.save.changes))
      for saved in saves { await saved.client.saved(saved.save) }
    } catch {
      let error = StoredError.storage(error)
      failure = failure ?? error
      for saved in saves { fail(saved.id, saved.client, error) }
    }
    return failure
  }

  private func fail(_ id: UInt64, _ client: any SavedClient, _ error: StorageError) {
    client.failed(error)
    edited(id)
  }

  /// Writes changes in one commit, or one by one over an engine without atomic batches.
  private func write(_ changes: [(key: StoreKey, value: EncodedValue?)]) async throws {
    guard !changes.isEmpty else { return }
    let operations = changes.map { change -> WriteBatch.Operation in
      change.value.map { .put(change.key, $0.data, $0.attributes) } ?? .delete(change.key)
    }
    if store.engine.capabilities.contains(.atomicBatches) {
      try await store.commit(WriteBatch(operations), changes.map { ($0.key, $0.value.map { Box($0) }) })
    } else {
      for (operation, change) in zip(operations, changes) {
        try await store.commit(WriteBatch([operation]), [(change.key, change.value.map { Box($0) })])
      }
    }
  }
}

extension SavedClient {
  fileprivate func isAffected(by change: StoreChange) -> Bool {
    guard case .commit(let commit) = change else { return true }
    return keys.contains { commit.changed.contains($0) }
  }
}
