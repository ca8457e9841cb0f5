import CofferLocks

/// The progress of loading the stored state of a client.
public enum ClientLoadState: Sendable {
  /// The state is being read; the client has its defaults and its edits.
  case loading
  /// The client has its stored state.
  case loaded
  /// The state could not be read. The client has its defaults and its edits, none of which replaces stored state until
  /// a later attempt succeeds.
  case failed(StorageError)

  /// Whether the client has its stored state.
  public var isLoaded: Bool {
    if case .loaded = self { true } else { false }
  }
}

/// A client in a ``ClientSession``, with the progress of its loading and saving.
public final class PersistedClient<C: Persistable>: Sendable {
  private struct State {
    var load = ClientLoadState.loading
    var lastError: StorageError?
  }

  /// The client.
  public let client: C
  let keys: Set<StoreKey>
  private let persistence: ClientPersistence
  private let cells: [any AnyClientCell]
  private let status = Locked(State())

  init(_ client: C, _ persistence: ClientPersistence, keys: Set<StoreKey>) {
    (self.client, self.persistence, self.keys) = (client, persistence, keys)
    cells = clientCells(of: client)
  }

  /// The progress of loading the client.
  public var state: ClientLoadState { status.withLock { $0.load } }
  /// The error of the last save, whose edits are still pending; `nil` after a save that has succeeded. `notLoaded` if
  /// a change in place was made before the client was restored, and could not be applied to the stored value.
  public var lastError: StorageError? { status.withLock { $0.lastError } }
}

/// A client of a session, whatever its type.
protocol SavedClient: Sendable {
  var keys: Set<StoreKey> { get }
  func attach(_ onEdit: @escaping @Sendable () -> Void) -> Bool
  func restore() async
  /// Collects what has changed.
  /// - Throws: The error of the load, if the client is not loaded, and any error of `persistState()`.
  func collect() async throws -> ClientSave
  func failed(_ error: StorageError)
  /// Notes that the restoration takes longer than the session waits, unless it has ended meanwhile.
  func isStillLoading(_ error: StorageError)
  func saved(_ save: ClientSave) async
  /// Notes that a save was written besides one that may still write older values.
  func wroteOutOfTurn(_ save: ClientSave) async
}

/// What one client has to write, and the edits of its properties that it contains.
struct ClientSave: Sendable {
  let changes: [(key: StoreKey, value: EncodedValue?)]
  /// Record for each property that its edits are stored.
  let edits: [@Sendable () -> Void]
}

extension PersistedClient: SavedClient {
  func attach(_ onEdit: @escaping @Sendable () -> Void) -> Bool {
    var wasEdited = false
    for cell in cells where cell.attach(onEdit) { wasEdited = true }
    return wasEdited
  }

  func restore() async {
    do {
      let restoration = ClientRestoration(persistence, cells)
      defer { restoration.close() }
      try await ClientRestoration.$current.withValue(restoration) { try await client.restoreState() }
      restoration.close()
      // A client that uses its default instead must not replace with it what could not be read.
      if let failure = restoration.failure { throw failure }
      for cell in cells { cell.loaded() }
      await noteWhatIsUnchanged()
      status.withLock { status in
        // What was stated meanwhile is that it has not been restored yet.
        if case .loading = status.load { status.lastError = nil }
        status.load = .loaded
        if restoration.gaveUpChange { status.lastError = .changeGivenUp(persistence.prefix) }
      }
    } catch {
      let error = StoredError.storage(error)
      status.withLock { $0.load = .failed(error) }
    }
  }

  /// Records what the client would save without its pending edits as known, so that only edited values are written from
  /// now on: neither the defaults of what is not stored or was not loaded, nor other bytes for an equal value, nor what
  /// another process has deleted.
  private func noteWhatIsUnchanged() async {
    // More than once, since whatever shows the client may read an edited property at the same time.
    for _ in 0..<3 {
      let reads = cells.map(\.editedReads)
      let round = ClientRound(persistence, keys: keys, cells: cells, isBaseline: true)
      // A client that cannot be saved says so when it is.
      _ = try? await round.collect(from: client)
      // An edited property that the round has not read may have been read with its edit by a task outside of it.
      let isUnedited = zip(cells, reads).allSatisfy { cell, reads in
        cell.isSaved || round.hasRead(cell) || cell.editedReads == reads
      }
      if isUnedited { return await persistence.isUnchanged(round.changes) }
    }
  }

  func collect() async throws -> ClientSave {
    if !state.isLoaded { await restore() }
    if case .failed(let error) = state { throw error }
    let edits = cells.map { $0.checkpoint() }
    let round = ClientRound(persistence, keys: keys, cells: cells)
    return ClientSave(changes: try await round.collect(from: client), edits: edits)
  }

  func failed(_ error: StorageError) { status.withLock { $0.lastError = error } }

  func isStillLoading(_ error: StorageError) {
    status.withLock { status in
      if case .loading = status.load { status.lastError = error }
    }
  }

  func wroteOutOfTurn(_ save: ClientSave) async { await persistence.forget(save.changes) }

  func saved(_ save: ClientSave) async {
    await persistence.committed(save.changes)
    for record in save.edits { record() }
    status.withLock { $0.lastError = nil }
  }
}

extension StorageError {
  fileprivate static func changeGivenUp(_ prefix: String) -> StorageError {
    let client = prefix.isEmpty ? "A client" : "The client '\(prefix.escapingControlCharacters)'"
    return StorageError(
      .notLoaded,
      "\(client) was changed in place before it was restored, and the change could not be applied to the stored value.",
      advice: "The stored value is kept, and the change is lost. Change values in place after start(prefix:_:) has "
        + "returned, or assign the whole value.")
  }
}

extension StorageError.Code {
  /// A value was changed in place before it was loaded, and the change could not be applied to the stored value.
  public static let notLoaded = Self("notLoaded")
}
