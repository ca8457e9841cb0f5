/// A place that keeps bytes by key: the one abstraction under every door.
///
/// Engines are not actors: any number of callers may be inside `commit` at once, so that they can share one sync to
/// disk. Implement ``StorageAdapter`` instead when all you have is read, write, delete and exists.
///
/// A read has three answers: a value, absent (`nil`), or unavailable, which is always a thrown error.
public protocol StorageEngine: Sendable {
  /// What this engine promises.
  var capabilities: StoreCapabilities { get }

  /// The name of the engine and its place, for messages: `sqlite:/var/lib/shop/app.db`.
  var description: String { get }

  /// The newest revision known in this process, as cheap as a load from memory. It never goes back while the engine
  /// is open, and it is at least the revision of every commit that this process has been told of. A read that begins
  /// after it was asked sees that revision or a later one: caches rely on it.
  var latestRevision: StoreRevision { get }

  /// Applies a batch, whole or not at all, and returns once it is as durable as the batch asks.
  ///
  /// - Throws: ``StorageError``; `CancellationError` when the task was cancelled before the batch began, in which
  ///   case nothing was written.
  @discardableResult
  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit

  /// The entry of one key; `nil` when it is absent.
  func entry(_ key: StoreKey) async throws -> StoreEntry?

  /// The entries of several keys in the same order; all of one state where the engine has snapshots.
  func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?]

  /// A record of the library's own; `nil` when it is absent.
  /// - Throws: ``StorageError``; ``StorageError/Code-swift.struct/unsupported`` without ``StoreCapabilities``'
  ///   `systemRecords`.
  func record(_ name: SystemRecordName) async throws -> SystemRecord?

  /// What a listing says of one key, without reading the value: as quick for a large one as for a small one. `nil` when
  /// it is absent.
  func summary(of key: StoreKey) async throws -> StoreEntrySummary?

  /// Reads one state of the store. The state lives as long as `body` runs; keep that short, since it may hold back
  /// the engine's housekeeping.
  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R

  /// The commits after `revision` up to ``latestRevision``, if they can be told without waiting; `nil` otherwise.
  ///
  /// Caches ask this: `nil` means "forget everything you hold".
  func recentCommits(after revision: StoreRevision) -> [StoreCommit]?

  /// ``latestRevision`` and the history that it belongs to: what a subscriber keeps in order to go on later.
  var latestPosition: JournalPosition { get }

  /// The commits after `position` (`nil`: from now on), each once and in order, whoever made them.
  ///
  /// Every caller gets a stream of its own, open when this returns. A subscriber that falls behind what the engine
  /// remembers gets one ``StoreChange/reload(upTo:)`` in place of what it missed; so does one from another history of
  /// the store, as after a restored backup.
  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange>

  /// Whether the store can be used: the present state first, then each change of it.
  func availability() -> AsyncStream<StoreAvailability>

  /// Makes every earlier ``StoreDurability/relaxed`` commit of this process survive power loss.
  func flush() async throws

  /// Ends the use of this handle. Commits that were accepted are finished first; later calls throw
  /// ``StorageError/Code-swift.struct/closed``. Closing twice is harmless.
  func close() async throws
}

extension StorageEngine {
  public func entry(_ key: StoreKey) async throws -> StoreEntry? {
    try await entries([key])[0]
  }

  public func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    try await withSnapshot { try await $0.entries(keys) }
  }

  public func record(_ name: SystemRecordName) async throws -> SystemRecord? {
    throw StorageError.unsupported(
      "records of the library's own", advice: "Keep them in one of the built-in engines.", backend: description)
  }

  public func summary(of key: StoreKey) async throws -> StoreEntrySummary? {
    try await entry(key).map(StoreEntrySummary.init)
  }

  /// Whether there is a value, which is not read: as quick for a large one as for a small one.
  /// - Throws: ``StorageError`` when it cannot be told; `false` means proven absent.
  public func contains(_ key: StoreKey) async throws -> Bool { try await summary(of: key) != nil }

  /// What a listing says of the values whose keys start with `prefix`, in the order of the keys, of one state of the
  /// store.
  public func summaries(prefix: StoreKey? = nil) async throws -> [StoreEntrySummary] {
    try await withSnapshot { try await $0.allSummaries(prefix: prefix) }
  }

  /// The commits after a revision of the present history.
  public func changes(since revision: StoreRevision) -> AsyncStream<StoreChange> {
    changes(since: JournalPosition(epoch: latestPosition.epoch, revision: revision))
  }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    revision == latestRevision ? [] : nil
  }

  public func flush() async throws {}
}
