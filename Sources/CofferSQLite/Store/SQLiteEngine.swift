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
  private let store: SQLiteStore
  private let isClosed = Locked(false)
  private let group = SubscriptionGroup()

  public let capabilities: Capabilities
  public var description: String { store.place.description }

  /// The canonical path of the database file.
  public var path: String { store.place.path }

  /// Opens a store, creating it, its directory (0700) and its file (0600) unless the configuration says otherwise.
  ///
  /// - Throws: `StorageError`: `permissionDenied`, `diskFull`, `notAStore` (a directory, another application's
  ///   database, no database), `damaged` (an emptied or truncated file), `newerFormat`, `notFound`, `inputOutput`.
  public static func open(
    at path: String, configuration: SQLiteConfiguration = SQLiteConfiguration()
  ) async throws -> SQLiteEngine {
    SQLiteEngine(try await StoreRegistry.shared.open(path, configuration: configuration))
  }

  /// The same for callers that cannot suspend: it blocks their thread while the file is opened.
  static func openBlocking(at path: String, configuration: SQLiteConfiguration) throws -> SQLiteEngine {
    SQLiteEngine(try StoreRegistry.shared.openBlocking(path, configuration: configuration))
  }

  private init(_ store: SQLiteStore) {
    self.store = store
    capabilities = Capabilities(Self.features, maximumValueSize: store.maximumValueSize)
  }

  static let features: Capabilities.Features = [
    .atomicBatches, .preconditions, .snapshots, .listing, .persistence, .replay, .foreignWriters, .powerLossSafety,
    .revisions,
  ]

  deinit {
    guard !isClosed.withLock({ $0 }) else { return }
    store.finishChanges(group)
    _ = store.release()  // The last one takes the store with it.
  }

  public var latestRevision: Revision { store.latestRevision }
  public var latestPosition: JournalPosition { JournalPosition(epoch: store.epoch, revision: latestRevision) }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: Origin) async throws -> Commit {
    let store = try openStore()
    try batch.checkSizes(limit: capabilities.maximumValueSize, backend: store.place.description)
    return try await store.writer.commit(PreparedBatch(batch, origin: origin), durability: batch.durability)
  }

  public func entry(_ key: Key) async throws -> Entry? {
    let store = try openStore()
    do {
      return try store.readers.read { try $0.entry(key) }
    } catch {
      return try store.salvage(key, after: error)
    }
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    let store = try openStore()
    let reader = try store.readers.borrow()
    defer { store.readers.giveBack(reader) }
    let snapshot = try SQLiteSnapshot(reader, of: store)
    defer { snapshot.end() }
    return try await body(snapshot)
  }

  public func recentCommits(after revision: Revision) -> [Commit]? {
    isClosed.withLock { $0 } ? nil : store.recentCommits(after: revision)
  }

  public func changes(since position: JournalPosition?) -> AsyncStream<Change> {
    store.changes(since: position, group: group)
  }

  public func availability() -> AsyncStream<Availability> {
    isClosed.withLock { $0 } ? AvailabilityFeed.closed() : store.availability()
  }

  public func flush() async throws {
    try await openStore().writer.flush()
  }

  public func close() async throws {
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else { return }
    store.finishChanges(group)
    if store.release() { await store.close() } else { await store.writer.drain() }
  }

  func openStore() throws -> SQLiteStore {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    return store
  }
}
