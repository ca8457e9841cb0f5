public import CofferCore
import CofferLocks

/// The embedded default: a store in one SQLite database file, safe with any number of tasks, handles and processes.
///
/// ```swift
/// let engine = try await SQLiteEngine.open(at: "/var/lib/app/store.db")
/// let store = TypedStore(engine: engine)
/// ```
///
/// A second open of the same file in a process shares the first one's connections and is a handle of its own.
/// Commits that arrive together share one sync to disk. A `.full` commit has survived power loss when it returns.
/// Reads run on the caller; they cost about as much as the SQLite statement.
///
/// Beside the file there are SQLite's `-wal` and `-shm` files and a small `-wake` file. Do not put a store on a
/// network file system: SQLite's locks and the mapped file need a local one.
public final class SQLiteEngine: StorageEngine {
  private let core: Core
  private let isClosed = Locked(false)
  private let group = SubscriptionGroup()

  public let capabilities: StoreCapabilities
  public var description: String { place.description }

  /// The canonical path of the database file.
  public var path: String { place.path }

  /// Whether nothing can be written: the configuration says so, or the place does not allow it. Commits throw
  /// `permissionDenied` then, and what other processes write is looked for once per second.
  public var isReadOnly: Bool {
    if case .readOnly = core { true } else { false }
  }

  /// Why nothing can be written; `nil` when it can.
  package var obstacleToWriting: StorageError? { readOnlyStore?.refusal }

  /// Opens a store, creating it, its directory (0700) and its file (0600) unless the configuration says otherwise.
  ///
  /// Where it cannot be written it is opened for reading only, unless the configuration says otherwise.
  /// - Throws: `StorageError`: `permissionDenied`, `diskFull`, `notAStore` (a directory, another application's
  ///   database, no database), `damaged` (an emptied or truncated file), `newerFormat`, `notFound`, `inputOutput`.
  public static func open(
    at path: String, configuration: SQLiteConfiguration = SQLiteConfiguration()
  ) async throws -> SQLiteEngine {
    if let reading = try await ReadOnlyStore.instead(of: path, configuration, after: nil) {
      return SQLiteEngine(reading)
    }
    do {
      let store = try await StoreRegistry.shared.open(path, configuration: configuration)
      StoreRegistry.shared.showOrder()
      return SQLiteEngine(store)
    } catch let error as StorageError {
      guard let reading = try await ReadOnlyStore.instead(of: path, configuration, after: error) else { throw error }
      return SQLiteEngine(reading)
    }
  }

  /// The same for callers that cannot suspend: it blocks their thread while the file is opened.
  package static func openBlocking(at path: String, configuration: SQLiteConfiguration) throws -> SQLiteEngine {
    SQLiteEngine(try StoreRegistry.shared.openBlocking(path, configuration: configuration))
  }

  /// Opens an existing store for reading only; it blocks, too.
  package static func openBlocking(
    at path: String, configuration: SQLiteConfiguration, readOnlyBecause reason: String
  ) throws -> SQLiteEngine {
    SQLiteEngine(try ReadOnlyStore.open(path, configuration, because: reason))
  }

  private init(_ store: SQLiteStore) {
    core = .full(store)
    capabilities = StoreCapabilities(Self.features, maximumValueSize: store.maximumValueSize)
  }

  private init(_ store: ReadOnlyStore) {
    core = .readOnly(store)
    let features = Self.features.subtracting([.atomicBatches, .preconditions, .powerLossSafety])
    capabilities = StoreCapabilities(features, maximumValueSize: store.maximumValueSize)
  }

  /// What the engine stands on.
  private enum Core {
    case full(SQLiteStore)
    case readOnly(ReadOnlyStore)
  }

  var place: StorePlace {
    switch core {
    case .full(let store): store.place
    case .readOnly(let store): store.place
    }
  }

  package static let features: StoreCapabilities.Features = [
    .attributes, .systemRecords, .immediateRevisions,
    .atomicBatches, .preconditions, .snapshots, .listing, .persistence, .replay, .foreignWriters, .powerLossSafety,
    .revisions,
  ]

  deinit {
    guard !isClosed.withLock({ $0 }) else { return }
    switch core {
    case .full(let store):
      store.finishChanges(group)
      _ = store.release()  // The last one takes the store with it.
    case .readOnly(let store): store.close()
    }
  }

  public var latestRevision: StoreRevision {
    switch core {
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
    let store = try openStore()
    try batch.check(capabilities, backend: store.place.description)
    return try await store.writer.commit(
      PreparedBatch(batch, origin: origin, at: store.clock.now()), durability: batch.durability)
  }

  public func entry(_ key: StoreKey) async throws -> StoreEntry? {
    if let readOnlyStore { return try readOnlyStore.entry(key) }
    let store = try openStore()
    do {
      return try store.readers.read { try $0.entry(key) }
    } catch {
      return try store.salvage(key, after: error)
    }
  }

  public func record(_ name: SystemRecordName) async throws -> SystemRecord? { try read { try $0.record(name) } }

  public func summary(of key: StoreKey) async throws -> StoreEntrySummary? {
    if let readOnlyStore { return try readOnlyStore.summary(of: key) }
    let store = try openStore()
    do {
      return try store.readers.read { try $0.summary(of: key) }
    } catch {
      return try store.salvage(key, after: error).map(StoreEntrySummary.init)
    }
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    if let readOnlyStore { return try await readOnlyStore.withSnapshot(body) }
    return try await withSnapshot(after: { nil }, body)
  }

  /// Reads one state, which begins after `announce` has returned; what that gives lives until the state has ended.
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

  /// Whether the present task is inside of a snapshot of any store.
  package static var isInsideSnapshot: Bool { ReaderPool.depth > 0 }

  /// How many tasks wait in line for a snapshot.
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
    guard case .full(let store) = core else {
      if case .readOnly(let store) = core { store.close() }
      return
    }
    store.finishChanges(group)
    if store.release() { await store.close() } else { await store.writer.drain() }
  }

  /// The store with its writer.
  /// - Throws: `closed`, and `permissionDenied` where the store is open for reading only.
  func openStore() throws -> SQLiteStore {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    switch core {
    case .full(let store): return store
    case .readOnly(let store): throw store.refusal
    }
  }

  /// The store while it is open for reading only.
  var readOnlyStore: ReadOnlyStore? {
    guard case .readOnly(let store) = core, !isClosed.withLock({ $0 }) else { return nil }
    return store
  }

  /// Reads one state of the store, on the caller's thread.
  package func read<R>(_ body: (Reader) throws -> R) throws -> R {
    if let readOnlyStore { return try readOnlyStore.read(body) }
    return try openStore().readers.read(body)
  }
}
