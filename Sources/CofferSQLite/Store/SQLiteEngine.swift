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
  private let core: Core
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

  /// Whether the store is open for reading only, because of its configuration or because the file cannot be written.
  ///
  /// If so, commits throw `readOnly`, and the engine polls for the commits of other processes once per second.
  public var isReadOnly: Bool {
    if case .readOnly = core { true } else { false }
  }

  /// The error that commits throw in a store that is open for reading only; `nil` if the store can be written.
  package var obstacleToWriting: StorageError? { readOnlyStore?.refusal }

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
    if let reading = try ReadOnlyStore.instead(of: path, configuration, after: nil) {
      return SQLiteEngine(reading, configuration)
    }
    do {
      return try openBlocking(at: path, configuration: configuration)
    } catch let error as StorageError {
      guard let reading = try ReadOnlyStore.instead(of: path, configuration, after: error) else { throw error }
      return SQLiteEngine(reading, configuration)
    }
  }

  /// Opens a store, blocking the caller's thread, for callers that cannot suspend.
  package static func openBlocking(at path: String, configuration: SQLiteEngine.Configuration) throws -> SQLiteEngine {
    SQLiteEngine(try StoreRegistry.shared.open(path, configuration: configuration), configuration)
  }

  /// Opens an existing store for reading only, blocking the caller's thread.
  /// - Parameter reason: the reason that commits to the store report.
  package static func openBlocking(
    at path: String, configuration: SQLiteEngine.Configuration, readOnlyBecause reason: String
  ) throws -> SQLiteEngine {
    SQLiteEngine(try ReadOnlyStore.open(path, configuration, because: reason), configuration)
  }

  private init(_ store: SQLiteStore, _ configuration: SQLiteEngine.Configuration) {
    events = configuration.events
    core = .full(store)
    head = store.wake.head
    readers = store.readers
    (description, clock) = (store.file.description, store.clock)
    capabilities = StoreCapabilities(Self.features, maximumValueSize: store.maximumValueSize)
  }

  private init(_ store: ReadOnlyStore, _ configuration: SQLiteEngine.Configuration) {
    events = configuration.events
    core = .readOnly(store)
    head = nil
    readers = nil
    (description, clock) = (store.file.description, store.clock)
    let features = Self.features.subtracting(.promisedByWriters)
    capabilities = StoreCapabilities(features, maximumValueSize: store.maximumValueSize)
  }

  /// The store that the engine is a handle on.
  private enum Core {
    case full(SQLiteStore)
    case readOnly(ReadOnlyStore)
  }

  var file: StoreFile {
    switch core {
    case .full(let store): store.file
    case .readOnly(let store): store.file
    }
  }

  package static let features: StoreCapabilities.Features = [
    .attributes, .systemRecords, .immediateRevisions,
    .atomicBatches, .preconditions, .snapshots, .listing, .persistence, .replay, .foreignWriters, .powerLossSafety,
    .revisions,
  ]

  deinit {
    guard !isClosed.withLock({ $0 }) else { return }
    events?.emitLater(description, .closed)
    switch core {
    case .full(let store):
      store.finishChanges(group)
      _ = store.release()  // The store is deallocated with its last handle.
    case .readOnly(let store): store.close()
    }
  }

  public var latestRevision: StoreRevision {
    if let head { return head.revision }
    return switch core {
    case .full(let store): store.latestRevision
    case .readOnly(let store): store.latestRevision
    }
  }

  public var latestPosition: JournalPosition {
    let epoch =
      switch core {
      case .full(let store): store.epoch
      case .readOnly(let store): store.epoch
      }
    return JournalPosition(epoch: epoch, revision: latestRevision)
  }

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
    if let readOnlyStore { return try readOnlyStore.entry(key) }
    guard let readers, !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    do {
      return try readers.read { try $0.entry(key) }
    } catch {
      return try openStore().salvage(key, after: error)
    }
  }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    if let readOnlyStore { return try readOnlyStore.record(name) }
    let store = try openStore()
    do {
      return try store.readers.read { try $0.record(name) }
    } catch {
      return try store.salvage(name, after: error)
    }
  }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard let summary = try storedSummary(of: key) else { return nil }
    // Only the checksum of the whole row proves that its value has expired.
    if summary.attributes.isExpired(at: clock.now()), try await entry(key) == nil { return nil }
    return summary
  }

  private func storedSummary(of key: KeyName) throws -> StoreEntry.Summary? {
    if let readOnlyStore { return try readOnlyStore.summary(of: key) }
    let store = try openStore()
    do {
      return try store.readers.read { try $0.summary(of: key) }
    } catch {
      return try store.salvage(key, after: error).map(StoreEntry.Summary.init)
    }
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
    if let readOnlyStore { return try await readOnlyStore.withSnapshot(body) }
    return try await withSnapshot(after: { nil }, body)
  }

  /// Reads one state of the store, taken after `announce` has returned, including values that have expired.
  /// - Parameter announce: called first; the object that it returns is kept alive until the snapshot has ended.
  package func withSnapshot<R: Sendable>(
    after announce: @Sendable () throws -> (any AnyObject & Sendable)?,
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    let store = try openStore()
    return try await store.readers.withReader { reader in
      let sign = try announce()
      defer { withExtendedLifetime(sign) {} }
      let snapshot = try SQLiteSnapshot(reader, of: store)
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
    return switch core {
    case .full(let store): store.recentCommits(after: revision)
    case .readOnly(let store): store.recentCommits(after: revision)
    }
  }

  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    switch core {
    case .full(let store): store.changes(since: position, group: group)
    case .readOnly(let store): store.changes(since: position)
    }
  }

  public func availability() -> AsyncStream<StoreAvailability> {
    guard !isClosed.withLock({ $0 }) else { return AvailabilityFeed.closed() }
    return switch core {
    case .full(let store): store.availability()
    case .readOnly(let store): store.availability()
    }
  }

  public func flush() async throws {
    if readOnlyStore != nil { return }  // Nothing was written.
    try await openStore().writer.flush()
  }

  public func close() async throws {
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else { return }
    defer { events?.emitLater(description, .closed) }
    guard case .full(let store) = core else {
      if case .readOnly(let store) = core { store.close() }
      return
    }
    store.finishChanges(group)
    if store.release() { await store.close() } else { await store.writer.drain() }
  }

  /// Gives up the cached pages of all connections that are not in use.
  package func releaseMemory() async {
    switch core {
    case .full(let store):
      store.readers.closeIdle()
      await store.writer.releaseMemory()
    case .readOnly(let store): store.closeIdleReaders()
    }
  }

  /// Returns the store and its writer.
  /// - Throws: `closed`, or `readOnly` if the store is open for reading only.
  func openStore() throws -> SQLiteStore {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    switch core {
    case .full(let store): return store
    case .readOnly(let store): throw store.refusal
    }
  }

  /// The store, if it is open for reading only and the engine is not closed; otherwise `nil`.
  var readOnlyStore: ReadOnlyStore? {
    guard case .readOnly(let store) = core, !isClosed.withLock({ $0 }) else { return nil }
    return store
  }

  /// Runs `body` with a reader, on the caller's thread.
  package func read<R>(_ body: (Reader) throws -> R) throws -> R {
    if let readOnlyStore { return try readOnlyStore.read(body) }
    return try openStore().readers.read(body)
  }
}
