import CofferLocks

/// Saves the edits of all clients of a session: one timer, and one commit for each interval.
final class ClientSaver: Sendable {
  private struct State {
    var clients: [UInt64: any SavedClient] = [:]
    var keys: Set<StoreKey> = []
    var edited: Set<UInt64> = []
    /// The clients whose edits are being stored.
    var saving: Set<UInt64> = []
    /// The clients of the present save that were also saved besides it.
    var outOfTurn: Set<UInt64> = []
    /// The clients that are being restored or asked, which nobody else asks meanwhile.
    var asked: Set<UInt64> = []
    /// The clients among them whose keys another writer has changed meanwhile: they are restored once they answer.
    var changed: Set<UInt64> = []
    var isTimerRunning = false
    var nextID: UInt64 = 0
  }

  /// What one client has to write.
  struct PendingSave: Sendable {
    let id: UInt64
    let client: any SavedClient
    let save: ClientSave
  }

  let store: TypedStore
  private let interval: Duration
  private let clock: any Clock<Duration>
  /// The time that a client has to answer, so that it does not keep back the others.
  private let patience: Duration
  private let state = Locked(State())
  private let turns = KeyedQueue()
  private let turn: StoreKey = "turn"

  init(store: TypedStore, interval: Duration, clock: any Clock<Duration>, patience: Duration) {
    (self.store, self.interval, self.clock, self.patience) = (store, interval, clock, patience)
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
    do { try await inTurn { try await asking(id) { await client.restore() } } } catch let error as StorageError
      where error.code == .busy
    {
      client.isStillLoading(error)  // Its restoration goes on.
    } catch {
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

  /// The clients with edits that are not stored yet.
  var pendingClients: [(id: UInt64, client: any SavedClient)] {
    state.withLock { state in
      state.edited.union(state.saving).sorted().compactMap { id in state.clients[id].map { (id, $0) } }
    }
  }

  private func inTurn<R>(_ body: () async throws -> R) async throws -> R { try await turns.run(turn, body) }

  /// Restores the clients whose keys another writer has changed.
  func restore(after change: StoreChange) async {
    if case .commit(let commit) = change, commit.origin == store.origin { return }
    let clients = state.withLock { $0.clients }
    for (id, client) in clients where client.isAffected(by: change) { await restoreAgain(id, client) }
  }

  private func restoreAgain(_ id: UInt64, _ client: any SavedClient) async {
    try? await inTurn {
      // What a client is doing may have read the store before the change.
      let isAsked = state.withLock { state in
        if state.asked.contains(id) { state.changed.insert(id) }
        return state.asked.contains(id)
      }
      if !isAsked { try await asking(id) { await client.restore() } }
    }
  }

  /// Notes that a client has answered, and restores it if its keys were changed before.
  private func answered(_ id: UInt64) {
    let changed = state.withLock { state -> (any SavedClient)? in
      state.asked.remove(id)
      return state.changed.remove(id).flatMap { state.clients[$0] }
    }
    if let changed { Task.detached { [self] in await restoreAgain(id, changed) } }
  }

  /// Calls a client, without the task-local values of the caller, and waits for a limited time.
  /// - Throws: any error of `body`; `busy` if it takes longer, or an earlier call of the client has not returned yet.
  private func asking<R: Sendable>(_ id: UInt64, _ body: @escaping @Sendable () async throws -> R) async throws -> R {
    let late = StorageError(
      .busy, "A client of the session does not answer: its persistState() or restoreState() has not returned.",
      advice: "Its edits are kept, and saved once it answers. Other clients are saved.",
      location: store.engine.description)
    guard state.withLock({ $0.asked.insert(id).inserted }) else { throw late }
    let (end, result) = (SharedOutcome(), Locked<R?>(nil))
    SavingTask.detached { [self] in
      let outcome: Result<Void, any Error>
      do {
        let value = try await body()
        result.withLock { $0 = value }
        outcome = .success(())
      } catch { outcome = .failure(error) }
      answered(id)
      end.finish(outcome)
    }
    try await end.wait(patience, orThrow: late)
    guard let value = result.withLock({ $0 }) else { throw late }
    return value
  }

  /// Saves all edits so far in one commit. What cannot be saved stays pending and is tried again after the interval.
  /// - Throws: The first error; `StorageError` with code `unsupported` for a call by a client that is being restored or
  ///   saved, which would wait for itself.
  func save() async throws {
    guard ClientRestoration.current?.isOpen != true, ClientRound.current?.isOpen != true else {
      throw StorageError(
        .unsupported, "A client saves its session while the session restores or saves it.",
        advice: "Remove the call: the session saves its clients itself. Nothing was changed.",
        location: store.engine.description)
    }
    let failure = try await inTurn { await withoutTaskLocals { await self.saveInTurn() } }
    if let failure { throw failure }
  }

  /// Runs `body` in a task without the task-local values of the caller: whatever the clients start in it must not
  /// depend on who happened to save or to be the first in the interval.
  private func withoutTaskLocals<R: Sendable>(_ body: @escaping @Sendable () async -> R) async -> R {
    await SavingTask.detached { await body() }.value
  }

  private func saveInTurn() async -> StorageError? {
    let edited = state.withLock { state in
      (state.saving, state.edited, state.outOfTurn) = (state.edited, [], [])
      return state.saving.sorted().compactMap { id in state.clients[id].map { (id, $0) } }
    }
    // After those that failed are among the edited ones again.
    defer { state.withLock { $0.saving = [] } }
    var saves: [PendingSave] = []
    var failure: StorageError?
    for (id, client) in edited {
      do {
        saves.append(PendingSave(id: id, client: client, save: try await asking(id) { try await client.collect() }))
      } catch {
        let error = StoredError.storage(error)
        failure = failure ?? error
        fail(id, client, error)
      }
    }
    // What a client has saved meanwhile, as the process was about to end, is newer than what was collected before.
    let newer = state.withLock { $0.outOfTurn }
    for id in newer { self.edited(id) }
    for (saved, error) in await write(saves.filter { !newer.contains($0.id) }) {
      if let error {
        failure = failure ?? error
        fail(saved.id, saved.client, error)
      } else {
        await saved.client.saved(saved.save)
      }
    }
    return failure
  }

  func noteOutOfTurn(_ ids: [UInt64]) { state.withLock { $0.outOfTurn.formUnion(ids) } }

  /// Keeps the edits of a client for the next attempt, which the timer makes unless the store is closed.
  private func fail(_ id: UInt64, _ client: any SavedClient, _ error: StorageError) {
    client.failed(error)
    guard error.code == .closed else {
      edited(id)
      return
    }
    state.withLock { _ = $0.edited.insert(id) }
  }

  /// Writes what several clients save in one commit. If their content is refused, or the engine has no atomic batches,
  /// each client is written by itself, so that one value that cannot be stored does not keep back the others.
  /// - Returns: each client with its error, or `nil` if it is stored.
  func write(_ saves: [PendingSave]) async -> [(PendingSave, StorageError?)] {
    if saves.count > 1, store.engine.capabilities.contains(.atomicBatches) {
      do {
        try await write(saves.flatMap(\.save.changes))
        return saves.map { ($0, nil) }
      } catch {
        let error = StoredError.storage(error)
        guard error.isAboutContent else { return saves.map { ($0, error) } }
      }
    }
    var results: [(PendingSave, StorageError?)] = []
    for saved in saves {
      do {
        try await write(saved.save.changes)
        results.append((saved, nil))
      } catch { results.append((saved, StoredError.storage(error))) }
    }
    return results
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
