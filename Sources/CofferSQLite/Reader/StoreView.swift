import CofferCore

/// One state of the files of a store, as it is read: the ``SQLiteStore`` that is open for writing, or a
/// ``ReadOnlyView``.
protocol StoreView: AnyObject, Sendable {
  var file: StoreFile { get }
  var readers: ReaderPool { get }
  var quarantine: Quarantine { get }
  /// The latest proof that the rows of a revision are complete, cached for reads past damaged pages.
  var provenRows: Locked<RowProof?> { get }

  /// Throws if the files were read without locks and have changed since.
  func requireUnchanged() throws
}

/// What a handle needs of a store: an ``SQLiteStore``, or a ``ReadOnlyStore``, which has no writer.
protocol ReadableStore: AnyObject, Sendable {
  var file: StoreFile { get }
  var maximumValueSize: Int { get }
  var clock: StoreClock { get }
  var epoch: UInt64 { get }
  /// The loss of acknowledged commits that was not accepted yet, if any.
  var presentLoss: LossReport? { get }
  var latestRevision: StoreRevision { get }
  var feed: ChangeFeed { get }
  var availabilityFeed: AvailabilityFeed { get }

  /// Returns the present state of the files.
  func view() throws -> any StoreView

  /// Performs a read on the caller's thread.
  /// - Parameter salvage: Recovers from an error of `body`.
  func read<R>(_ body: (Reader) throws -> R, past salvage: (any StoreView, any Error) throws -> R) throws -> R

  /// Performs a read for callers that must not block; returns `nil` if it would.
  func readWithoutWaiting<R>(_ body: (Reader) throws -> R) throws -> R?

  /// Starts listening for the commits of other processes.
  func listen()

  /// Gives up the cached pages of all connections that are not in use.
  func releaseMemory() async

  /// Gives up a handle, without waiting for what is in progress.
  func abandon()

  /// Gives up a handle; the last one closes the store.
  func close() async
}

extension ReadableStore {
  func read<R>(_ body: (Reader) throws -> R) throws -> R { try read(body, past: { throw $1 }) }

  func entry(_ key: KeyName) throws -> StoreEntry? {
    try read({ try $0.entry(key) }, past: { try $0.salvage(key, after: $1) })
  }

  func record(_ name: SystemRecord.Name) throws -> SystemRecord? {
    try read({ try $0.record(name) }, past: { try $0.salvage(name, after: $1) })
  }

  func summary(of key: KeyName) throws -> StoreEntry.Summary? {
    try read({ try $0.summary(of: key) }, past: { try $0.salvage(key, after: $1).map(StoreEntry.Summary.init) })
  }

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    let latest = latestRevision
    guard revision < latest else { return [] }
    if let commits = feed.recentCommits(after: revision), commits.last?.revision == latest { return commits }
    // Commits of other processes are as cheap to read as a value; beyond the limit, invalidating a cache is cheaper.
    let limit = 256
    guard latest.rawValue - revision.rawValue <= UInt64(limit),
      let page = try? readWithoutWaiting({ try $0.journalPage(after: revision, limit: limit) }),
      page.isContiguous, let last = page.commits.last, last.revision >= latest
    else { return nil }
    return page.commits
  }

  func changes(since position: JournalPosition?, group: SubscriptionGroup) -> AsyncStream<StoreChange> {
    listen()
    // Commits that other processes have made but this one has not delivered yet precede the subscription.
    feed.advance(to: latestRevision)
    return feed.subscribe(since: position?.revision, isForeign: position.map(isForeign) ?? false, group: group)
  }

  /// Whether a position belongs to another history than this store's. A position of an earlier epoch does not, as long
  /// as the journal still contains its commit with that epoch.
  private func isForeign(_ position: JournalPosition) -> Bool {
    guard position.epoch != epoch else { return false }
    let found = try? read { try $0.epoch(of: position.revision) }
    return found != position.epoch
  }
}

extension SQLiteStore: ReadableStore, StoreView {
  var latestRevision: StoreRevision { wake.revision }
  var presentLoss: LossReport? { loss.withLock { $0 } }

  func view() -> any StoreView { self }

  func requireUnchanged() {}

  func read<R>(_ body: (Reader) throws -> R, past salvage: (any StoreView, any Error) throws -> R) throws -> R {
    do { return try readers.read(body) } catch { return try salvage(self, error) }
  }

  func readWithoutWaiting<R>(_ body: (Reader) throws -> R) throws -> R? { try readers.readWithoutWaiting(body) }

  func releaseMemory() async {
    readers.closeIdle()
    await writer.releaseMemory()
  }

  func abandon() { _ = release() }  // The store is deallocated with its last handle.

  func close() async {
    if release() { await closeNow() } else { await writer.drain() }
  }
}
