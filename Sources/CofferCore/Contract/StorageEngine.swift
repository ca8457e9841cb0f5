/// An engine that runs a store of bytes by key. Every API of Coffer is built on this protocol.
///
/// Engines are not actors: any number of callers may be inside `commit` at once, so that they can share one sync to
/// disk. Implement ``StorageAdapter`` instead if the store offers only read, write, delete and exists.
///
/// A read has three outcomes: a value, `nil` for a key that is proven absent, or a thrown error.
public protocol StorageEngine: Sendable {
  /// The guarantees of this engine.
  var capabilities: StoreCapabilities { get }

  /// Whether this handle only reads: every commit throws ``StorageError/Code-swift.struct/readOnly``. `false` while the
  /// store is not open yet.
  var isReadOnly: Bool { get }

  /// The location of the store in messages, such as `sqlite:/var/lib/shop/app.db`.
  var description: String { get }

  /// The clock by which the engine judges whether a value has expired, and with which it dates its commits.
  var clock: StoreClock { get }

  /// The hook that is told what this engine does; `nil`, the default, for none.
  var events: CofferEvents? { get }

  /// The newest revision known in this process. Reading it costs about as much as a load from memory.
  ///
  /// It never decreases while the engine is open, and it is at least the revision of every commit that has returned or
  /// was delivered in this process. A read that begins after this property was read sees that revision or a later one;
  /// caches rely on it.
  var latestRevision: StoreRevision { get }

  /// Applies a batch as a whole or not at all, and returns once it has the durability that the batch requests.
  ///
  /// - Throws: ``StorageError``; `CancellationError` when the task was cancelled before the batch began, in which
  ///   case nothing was written.
  @discardableResult
  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit

  /// Returns the entry of one key, or `nil` if the key is proven absent or its value has expired.
  /// - Throws: ``StorageError`` if the entry cannot be read.
  func entry(_ key: KeyName) async throws -> StoreEntry?

  /// Returns the entries of several keys in the same order. All belong to one state if the engine has snapshots.
  /// - Throws: ``StorageError`` if one of the entries cannot be read.
  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?]

  /// Returns a system record, or `nil` if it is absent.
  /// - Throws: ``StorageError``; ``StorageError/Code-swift.struct/unsupported`` without ``StoreCapabilities``'
  ///   `systemRecords`.
  func record(_ name: SystemRecord.Name) async throws -> SystemRecord?

  /// Returns the summary of one key without reading the value, or `nil` if the key is proven absent. The cost does not
  /// depend on the size of the value.
  /// - Throws: ``StorageError`` if it cannot be determined whether there is a value.
  func summary(of key: KeyName) async throws -> StoreEntry.Summary?

  /// Calls `body` with a snapshot of one state of the store, and returns its result.
  ///
  /// The snapshot is valid while `body` runs. Keep that short, since an open snapshot can delay checkpoints and other
  /// maintenance.
  /// - Throws: Any error of `body`; ``StorageError`` if no snapshot can be opened; `CancellationError` if the task was
  ///   cancelled while it waited for one.
  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R

  /// Returns the commits after `revision` up to ``latestRevision``, or `nil` if they are not available without waiting.
  ///
  /// Caches use it to invalidate single keys; after `nil` they must invalidate every entry.
  func recentCommits(after revision: StoreRevision) -> [StoreCommit]?

  /// The latest revision with the epoch of its history: the position from which a subscriber can resume later.
  var latestPosition: JournalPosition { get }

  /// Returns a stream of the commits after `position` (`nil`: after ``latestRevision``), of all writers, each once and
  /// in order.
  ///
  /// Every caller receives a separate stream, which is open when this returns. A subscriber that falls behind the
  /// journal receives one ``StoreChange/reload(upTo:)`` instead of the commits that it missed, as does one whose
  /// position belongs to another history of the store, for example after a backup was restored.
  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange>

  /// Returns a stream of the store's availability: the current state first, then each change.
  func availability() -> AsyncStream<StoreAvailability>

  /// Makes every earlier ``StoreDurability/relaxed`` commit of this process survive power loss.
  /// - Throws: ``StorageError`` if that cannot be guaranteed.
  func flush() async throws

  /// Closes this handle. Accepted commits are finished first; streams end, and later calls throw
  /// ``StorageError/Code-swift.struct/closed``. Idempotent.
  func close() async throws
}

extension StorageEngine {
  public var isReadOnly: Bool { false }

  public var clock: StoreClock { .system }
  public var events: CofferEvents? { nil }

  public func entry(_ key: KeyName) async throws -> StoreEntry? {
    try await entries([key])[0]
  }

  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await withSnapshot { try await $0.entries(keys) }
  }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    throw StorageError.unsupported(
      "system records", advice: "Keep them in one of the built-in engines.", location: description)
  }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try await entry(key).map(StoreEntry.Summary.init)
  }

  /// Returns whether `key` has a value, without reading it. The cost does not depend on the size of the value.
  /// - Throws: ``StorageError`` if the store cannot be read; `false` means proven absent.
  public func contains(_ key: KeyName) async throws -> Bool { try await summary(of: key) != nil }

  /// Returns the summaries of all values whose keys start with `prefix`, in the order of the keys, from one snapshot.
  /// - Throws: ``StorageError``; ``StorageError/Code-swift.struct/unsupported`` if the engine has no listings.
  public func summaries(prefix: KeyName? = nil) async throws -> [StoreEntry.Summary] {
    try await withSnapshot { try await $0.allSummaries(prefix: prefix) }
  }

  /// Returns a stream of the commits after a revision of the store's current history.
  public func changes(since revision: StoreRevision) -> AsyncStream<StoreChange> {
    changes(since: JournalPosition(epoch: latestPosition.epoch, revision: revision))
  }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    revision == latestRevision ? [] : nil
  }

  public func flush() async throws {}
}
