public import CofferCore
import Dispatch

/// A storage engine that keeps a store in one SQLite database file. This is the default embedded engine.
///
/// Any number of tasks, handles and processes may use the same store concurrently.
///
/// ```swift
/// let engine = try await SQLiteEngine.open(at: "/var/lib/app/store.db")
/// let store = TypedStore(engine: engine)
/// ```
///
/// Opening the same file again in a process returns a separate handle that shares the connections of the first.
/// Commits that arrive together share one sync to disk. A `.full` commit survives power loss once it has returned.
/// Reads run on the caller's thread and cost about as much as the SQLite statement.
///
/// SQLite's `-wal` and `-shm` files and a small `-wake` file are kept beside the database file. Do not put a store on
/// a network file system: SQLite's locks and the memory-mapped file require a local one.
public final class SQLiteEngine: ExpiringEngine {
  private let core: any ReadableStore
  /// The same store, or the error of every attempt to write, if it is open for reading only.
  private let full: Result<SQLiteStore, StorageError>
  /// Where the newest revision of a store that can be written is. The store outlives its handles.
  private let head: WakeFile.Head?
  /// The readers of a store that can be written: a reference to the store itself is counted in its side table.
  private let readers: ReaderPool?
  private let isClosed = Locked(false)
  private let group = SubscriptionGroup()
  public let events: CofferEvents?

  public let capabilities: StoreCapabilities
  public let description: String
  public let clock: StoreClock

  /// The canonical path of the database file.
  public var path: String { file.path }

  var file: StoreFile { core.file }

  /// Whether the store is open for reading only, because of its configuration or because the file cannot be written.
  ///
  /// If so, commits throw `readOnly`, and the engine polls for the commits of other processes once per second.
  public var isReadOnly: Bool { obstacleToWriting != nil }

  /// The error that commits throw in a store that is open for reading only; `nil` if the store can be written.
  package var obstacleToWriting: StorageError? {
    if case .failure(let refusal) = full { refusal } else { nil }
  }

  /// Opens a store, creating its directory (0700) and its file (0600) if they are missing.
  ///
  /// A store that cannot be written is opened for reading only. Both defaults can be changed by `configuration`.
  /// - Throws: `StorageError`: `permissionDenied`, `diskFull`, `notAStore` (a directory, another application's
  ///   database, not a database), `damaged` (an emptied or truncated file), `newerFormat`, `notFound`, `inputOutput`,
  ///   `unsupported` (a file of the store has several names).
  public static func open(
    at path: String, configuration: SQLiteEngine.Configuration = SQLiteEngine.Configuration()
  ) async throws -> SQLiteEngine {
    let location = configuration.name ?? "sqlite:\(path)"
    return try await configuration.events.opening(at: location, isReadOnly: \.isReadOnly) {
      try await openUntold(at: path, configuration)
    }
  }

  /// Opens a store on a queue of its own, since it blocks on disks and locks: other openings do not wait for it.
  private static func openUntold(at path: String, _ configuration: SQLiteEngine.Configuration) async throws
    -> SQLiteEngine
  {
    let engine = try await withCheckedThrowingContinuation { (opened: CheckedContinuation<SQLiteEngine, any Error>) in
      DispatchQueue(label: "coffer.open").async {
        let result = Result { try openNow(at: path, configuration) }
        StoreRegistry.shared.showOrder()
        opened.resume(with: result)
      }
    }
    StoreRegistry.shared.showOrder()
    await engine.replayWriteLogs()
    return engine
  }

  private static func openNow(at path: String, _ configuration: SQLiteEngine.Configuration) throws -> SQLiteEngine {
    if let reading = try readOnly(path, configuration, after: nil) { return reading }
    do {
      return try openBlocking(at: path, configuration: configuration)
    } catch let error as StorageError {
      guard let reading = try readOnly(path, configuration, after: error) else { throw error }
      return reading
    }
  }

  /// Opens a store, blocking the caller's thread, for callers that cannot suspend.
  package static func openBlocking(at path: String, configuration: SQLiteEngine.Configuration) throws -> SQLiteEngine {
    let store = try StoreRegistry.shared.open(path, configuration: configuration)
    return SQLiteEngine(store, .success(store), configuration)
  }

  /// Opens an existing store for reading only, blocking the caller's thread.
  /// - Parameter reason: the reason that commits to the store report.
  package static func openBlocking(
    at path: String, configuration: SQLiteEngine.Configuration, readOnlyBecause reason: String
  ) throws -> SQLiteEngine {
    var existing = configuration
    existing.createsIfMissing = false
    let file = try StoreFile.resolve(path, configuration: existing, isForReading: true)
    let refusal = StorageError.readOnly(because: reason, location: file.description)
    return SQLiteEngine(try ReadOnlyStore(file, configuration), .failure(refusal), configuration)
  }

  private init(
    _ core: any ReadableStore, _ full: Result<SQLiteStore, StorageError>, _ configuration: SQLiteEngine.Configuration
  ) {
    let store = try? full.get()
    (self.core, self.full, events) = (core, full, configuration.events)
    (head, readers) = (store?.wake.head, store?.readers)
    (description, clock) = (core.file.description, core.clock)
    let features = store == nil ? Self.features.subtracting(.promisedByWriters) : Self.features
    capabilities = StoreCapabilities(features, maximumValueSize: core.maximumValueSize)
  }

  package static let features: StoreCapabilities.Features = [
    .attributes, .systemRecords, .immediateRevisions,
    .atomicBatches, .preconditions, .snapshots, .listing, .persistence, .replay, .foreignWriters, .powerLossSafety,
    .revisions,
  ]

  deinit {
    guard !isClosed.withLock({ $0 }) else { return }
    events?.emitLater(description, .closed)
    core.feed.finish(group)
    core.abandon()
  }

  public var latestRevision: StoreRevision { head?.revision ?? core.latestRevision }

  public var latestPosition: JournalPosition { JournalPosition(epoch: core.epoch, revision: latestRevision) }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    guard let events else { return try await commitSilently(batch, from: origin) }
    return try await events.commit(batch, to: self) { try await commitSilently(batch, from: origin) }
  }

  /// Commits a batch without telling about it.
  package func commitSilently(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let store = try openStore()
    try batch.check(capabilities, location: store.file.description)
    let commit = try await store.writer.commit(
      PreparedBatch(batch, origin: origin, at: store.clock.now()), durability: batch.durability)
    store.sweep(at: commit.date, after: batch)
    return commit
  }

  public func entry(_ key: KeyName) async throws -> StoreEntry? { try entryNow(key) }

  /// Returns an entry, even if it has expired.
  func storedEntry(_ key: KeyName) throws -> StoreEntry? {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    guard let readers else { return try core.entry(key) }
    do {
      return try readers.read { try $0.entry(key) }
    } catch {
      return try openStore().salvage(key, after: error)
    }
  }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? { try openCore().record(name) }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard let summary = try openCore().summary(of: key) else { return nil }
    // Only the checksum of the whole row proves that its value has expired.
    if summary.attributes.isExpired(at: clock.now()), try await entry(key) == nil { return nil }
    return summary
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await withStoredSnapshot {
      try await body(PresentSnapshot($0, at: clock.now(), confirmsSummaries: true))
    }
  }

  /// Reads one state of the store, including values that have expired.
  package func withStoredSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await withSnapshot(after: { nil }, body)
  }

  /// Reads one state of the store, taken after `announce` has returned, including values that have expired.
  /// - Parameter announce: called first; the object that it returns is kept alive until the snapshot has ended.
  package func withSnapshot<R: Sendable>(
    after announce: @Sendable () throws -> (any AnyObject & Sendable)?,
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    let view = try openCore().view()
    return try await view.readers.withReader { reader in
      let sign = try announce()
      defer { withExtendedLifetime(sign) {} }
      let snapshot = try SQLiteSnapshot(reader, of: view)
      defer { snapshot.end() }
      return try await body(snapshot)
    }
  }

  /// Whether the current task is inside a snapshot of any store.
  package static var isInsideSnapshot: Bool { ReaderPool.depth > 0 }

  /// The number of tasks that wait for a snapshot.
  package var waitingSnapshots: Int { (try? openStore())?.readers.waiting ?? 0 }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    guard !isClosed.withLock({ $0 }) else { return nil }
    return core.recentCommits(after: revision)
  }

  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    core.changes(since: position, group: group)
  }

  public func availability() -> AsyncStream<StoreAvailability> {
    isClosed.withLock { $0 } ? AvailabilityFeed.closed() : core.availabilityFeed.subscribe()
  }

  public func flush() async throws {
    if isReadOnly { _ = try openCore() } else { try await openStore().writer.flush() }
  }

  public func close() async throws {
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else { return }
    defer { events?.emitLater(description, .closed) }
    core.feed.finish(group)
    await core.close()
  }

  /// Gives up the cached pages of all connections that are not in use.
  package func releaseMemory() async { await core.releaseMemory() }

  /// Returns the store and its writer.
  /// - Throws: `closed`, or `readOnly` if the store is open for reading only.
  func openStore() throws -> SQLiteStore {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    return try full.get()
  }

  /// Returns the store for reading.
  /// - Throws: `closed`.
  func openCore() throws -> any ReadableStore {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    return core
  }

  /// Runs `body` with a reader, on the caller's thread.
  package func read<R>(_ body: (Reader) throws -> R) throws -> R {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    guard let readers else { return try core.read(body) }
    return try readers.read(body)
  }
}
