public import CofferCore

/// A storage engine that keeps stores in a PostgreSQL server, version 15 or newer, for processes on many machines.
///
/// ```swift
/// let engine = try await PostgreSQLEngine.open("postgresql://db.example.com/app?store=shop")
/// let store = TypedStore(engine: engine)
/// ```
///
/// Any number of tasks, processes and machines may use one store, and a database may hold any number of stores. A
/// commit has returned once the server has confirmed it. If the server has synchronous standbys, that includes as many
/// of them as it demands, and no acknowledged commit is lost when the primary is. Commits that arrive together share
/// one transaction. `.relaxed` commits are as durable as `.full` ones.
///
/// The stores of a process in one database share their connections, which are opened again by themselves after they
/// were lost. See `docs/postgresql.md` for the set-up of the server.
public final class PostgreSQLEngine: ExpiringEngine {
  private let store: PostgreSQLStore
  private let isClosed = Locked(false)
  private let group = SubscriptionGroup()
  public let events: CofferEvents?
  public let capabilities: StoreCapabilities

  /// The location of the store, without any secret: `postgresql://app@db.example.com/app?store=shop`.
  public var description: String { store.location }

  public var isReadOnly: Bool { store.isReadOnly }
  public var clock: StoreClock { store.clock }
  public var latestRevision: StoreRevision { store.latestRevision }
  public var latestPosition: JournalPosition { store.latestPosition }

  /// Opens a store. By default, a store that is missing is created, with the tables of this library if the database has
  /// none yet, provided that the role may do so.
  /// - Parameters:
  ///   - location: the server and the database, `postgresql://USER@HOST,HOST/DATABASE`, in the form of libpq; a
  ///     password is refused here. It may name the store in the parameter `store`.
  ///   - name: the name of the store; `nil` for the one that `location` names.
  ///   - configuration: the settings. Handles of one process on the same database share the connections of the first.
  /// - Throws: `StorageError`:
  ///   - `invalidLocation`; `newerFormat`.
  ///   - `unavailable` if no server can be reached.
  ///   - `permissionDenied` for a wrong password or a role without grants.
  ///   - `notFound` for a missing store that is not created.
  ///   - `notAStore` for tables of another origin.
  ///   - `unsupported` for an older server, or behind a pooler that changes the server process.
  public static func open(
    _ location: String, store name: String? = nil,
    configuration: PostgreSQLEngine.Configuration = PostgreSQLEngine.Configuration()
  ) async throws -> PostgreSQLEngine {
    let target = try ConnectionTarget(location, store: name, configuration)
    let events: CofferEvents? = configuration.events
    return try await events.opening(at: target.description, isReadOnly: \.isReadOnly) {
      PostgreSQLEngine(try await DatabaseRegistry.shared.store(target, configuration), configuration)
    }
  }

  private init(_ store: PostgreSQLStore, _ configuration: PostgreSQLEngine.Configuration) {
    self.store = store
    events = configuration.events
    capabilities = StoreCapabilities(store.features, maximumValueSize: configuration.maximumValueSize)
  }

  deinit {
    guard !isClosed.withLock({ $0 }) else { return }
    events?.emitLater(description, .closed)
    store.feed.finish(group)
    let store = store
    if store.release() { Task { await DatabaseRegistry.shared.close(store) } }
  }

  // MARK: Commits

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    guard let events else { return try await commitSilently(batch, from: origin) }
    return try await events.commit(batch, to: self) { try await commitSilently(batch, from: origin) }
  }

  private func commitSilently(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let store = try openWritableStore()
    try Task.checkCancellation()
    try batch.check(capabilities, location: description)
    let request = CommitRequest(batch, store: store.id, origin: origin, at: clock.now())
    let commit = try await store.commit(request)
    store.sweep(at: commit.date, after: batch)
    return commit
  }

  /// Does nothing: every commit that has returned is as durable as a `.full` one.
  public func flush() async throws { _ = try openStore() }

  // MARK: Reads

  public func entry(_ key: KeyName) async throws -> StoreEntry? {
    try await openStore().entry(key)?.present(at: clock.now())
  }

  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    let now = clock.now()
    return try await openStore().entries(keys).map { $0?.present(at: now) }
  }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? { try await openStore().record(name) }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard let summary = try await openStore().summary(of: key) else { return nil }
    // Only the checksum of the whole row proves that its value has expired.
    if summary.attributes.isExpired(at: clock.now()), try await entry(key) == nil { return nil }
    return summary
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await withStoredSnapshot { try await body(PresentSnapshot($0, at: clock.now(), confirmsSummaries: true)) }
  }

  /// Reads one state of the store, including values that have expired.
  package func withStoredSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    let store = try openStore()
    return try await store.database.withSnapshotConnection { connection in
      let snapshot = try await store.snapshot(on: connection)
      let result: Result<R, any Error>
      do { result = .success(try await body(snapshot)) } catch { result = .failure(error) }
      await snapshot.end()
      return try result.get()
    }
  }

  // MARK: Changes

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    guard !isClosed.withLock({ $0 }) else { return nil }
    return store.feed.recentCommits(after: revision)
  }

  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    store.changes(since: position, group: group)
  }

  public func availability() -> AsyncStream<StoreAvailability> {
    isClosed.withLock { $0 } ? AvailabilityFeed.closed() : store.condition.availability.subscribe()
  }

  // MARK: Closing

  public func close() async throws {
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else { return }
    defer { events?.emitLater(description, .closed) }
    store.feed.finish(group)
    if store.release() { await DatabaseRegistry.shared.close(store) } else { await store.drain() }
  }

  /// Returns the store.
  /// - Throws: `closed`.
  func openStore() throws -> PostgreSQLStore {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    return store
  }

  /// Returns the store, if it may be written.
  /// - Throws: `closed`; `readOnly`.
  func openWritableStore() throws -> PostgreSQLStore {
    let store = try openStore()
    guard store.isReadOnly else { return store }
    throw StorageError(
      .readOnly,
      "The role may only read the store, its default_transaction_read_only is on, or the store was opened for reading.",
      advice: "Grant the role the store with 'coffer postgresql grant --write'. Nothing was written.",
      location: description)
  }
}
