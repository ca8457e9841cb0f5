import CofferCSQLite
import CofferCore
import CofferFileSystem
import CofferLocks
import Foundation

/// What all handles of one process on one database file share: the writer, the readers and the feeds.
final class SQLiteStore: Sendable {
  private struct State {
    var handles = 1
    var watch: UInt64?
    var listens = false
    var isChecking = false
  }

  let place: StorePlace
  let identity: FileIdentity
  let token = StoreToken()
  let maximumValueSize: Int
  let clock: StoreClock
  let writer: Writer
  let readers: ReaderPool
  private let feed: ChangeFeed
  let availabilityFeed: AvailabilityFeed
  /// The history that the store was opened in.
  let epoch: UInt64
  /// What was lost, until somebody accepts it.
  let loss: Locked<LossReport?>
  /// Whether all rows of a revision are there, for reads past damaged pages.
  let provenRows = Locked<RowProof?>(nil)
  /// The last restoration that the store has seen.
  private let restoration: Int64?
  private let wake: WakeFile
  let quarantine: Quarantine
  private let state = Locked(State())
  private let checks = DispatchQueue(label: "coffer.check", qos: .utility)

  /// Opens the file for this process. Slow, so not for a thread that tasks share.
  init(place: StorePlace, configuration: SQLiteConfiguration, mustVerify: Bool) throws {
    let opening = try Opening(place, configuration: configuration, mustVerify: mustVerify)
    let place = opening.place
    self.place = place
    identity = opening.identity
    maximumValueSize = opening.maximumValueSize
    clock = configuration.clock
    let wake = opening.wake
    let quarantine = Quarantine(place, configuration: configuration)
    let opened = opening.identity
    let readers = ReaderPool {
      do { return try Reader(place) { quarantine.report($0) } } catch {
        // A file that is gone in the middle of its use is not one that cannot be opened.
        throw place.isReplaced(opened) ? StorageError.replaced(place) : error
      }
    }
    let feed = ChangeFeed(
      latest: opening.history.revision, capacity: min(4_096, max(1, configuration.journalRetention)),
      journal: { revision, limit in try readers.read { try $0.journalPage(after: revision, limit: limit) } })
    epoch = opening.history.epoch
    restoration = opening.restoration
    loss = Locked(opening.history.loss)
    availabilityFeed = AvailabilityFeed(opening.history.loss.map { .recovered(reason: $0.message) } ?? .available)
    let availability = availabilityFeed
    let (identity, token) = (opening.identity, token)
    let listener = Writer.Listener(
      raise: { wake.raise(to: $0) },
      raiseDurable: { wake.raiseDurable(to: $0) },
      announce: { commits in
        guard !commits.isEmpty else { return }
        feed.publish(commits)
        wake.ring()
      },
      failure: FailureSign(isGiven: { wake.hasFailed }, give: { wake.fail() }),
      fail: { error in
        StoreRegistry.shared.remove(identity, token, mustVerify: true)
        readers.close(error)
        // So that listeners in other processes look at the failure sign at once.
        wake.ring()
        availability.set(.unavailable(reason: error.message))
        feed.finish()
      })
    var writing = configuration
    writing.maximumValueSize = opening.maximumValueSize
    writer = try Writer(place, configuration: writing, listener: listener)
    self.wake = wake
    self.quarantine = quarantine
    self.readers = readers
    self.feed = feed
    quarantine.connect(writer)
    writer.maySalvage.withLock { $0 = { [weak self] error in self?.maySalvage(error) ?? false } }
    let watch = FileWatcher.shared.watch(place.wakePath) { [weak self] event in self?.hear(event) }
    state.withLock { $0.watch = watch }
  }

  deinit {
    if let watch = state.withLock({ $0.watch }) { FileWatcher.shared.unwatch(watch) }
    writer.abandon()
  }

  var latestRevision: StoreRevision { wake.revision }

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    let latest = latestRevision
    guard revision < latest else { return [] }
    if let commits = feed.recentCommits(after: revision), commits.last?.revision == latest { return commits }
    // Somebody else's: as quick to read as a value. Too many are not worth it for a cache.
    let limit = 256
    guard latest.rawValue - revision.rawValue <= UInt64(limit),
      let page = (try? readers.readWithoutWaiting { try $0.journalPage(after: revision, limit: limit) }) ?? nil,
      page.isContiguous, let last = page.commits.last, last.revision >= latest
    else { return nil }
    return page.commits
  }

  func changes(since position: JournalPosition?, group: SubscriptionGroup) -> AsyncStream<StoreChange> {
    listen()
    // What others have committed just now and nobody has heard yet comes before "from now on".
    feed.advance(to: latestRevision)
    return feed.subscribe(since: position?.revision, isForeign: position.map(isForeign) ?? false, group: group)
  }

  /// Whether a position is of another history than this store's. One of an earlier epoch is not, as long as that
  /// epoch's commit is in the journal.
  private func isForeign(_ position: JournalPosition) -> Bool {
    guard position.epoch != epoch else { return false }
    let found = try? readers.read { try $0.epoch(of: position.revision) }
    return found != position.epoch
  }

  func finishChanges(_ group: SubscriptionGroup) { feed.finish(group) }

  func availability() -> AsyncStream<StoreAvailability> { availabilityFeed.subscribe() }

  // MARK: Handles

  /// Counts one more handle, unless the last one has just been closed.
  func retain() -> Bool {
    state.withLock { state in
      guard state.handles > 0 else { return false }
      state.handles += 1
      return true
    }
  }

  /// Counts one handle less; whether it was the last.
  func release() -> Bool {
    state.withLock { state in
      state.handles -= 1
      return state.handles == 0
    }
  }

  /// Finishes what was accepted and closes everything, after the last handle was closed.
  func close() async {
    StoreRegistry.shared.remove(identity, token, mustVerify: false)
    if let watch = state.withLock({ $0.watch }) { FileWatcher.shared.unwatch(watch) }
    await writer.close()
    await withCheckedContinuation { continuation in checks.async { continuation.resume() } }
    readers.close(StorageError.closed(place.description))
    feed.finish()
    availabilityFeed.finish()
    wake.noteClosed()
  }

  // MARK: Other processes

  /// Hears the bell from now on. Before the first subscriber nobody needs it, and our own commits would ring it.
  private func listen() {
    let watch = state.withLock { state -> UInt64? in
      guard !state.listens else { return nil }
      state.listens = true
      return state.watch
    }
    guard let watch else { return }
    FileWatcher.shared.listen(watch)
    wake.giveSignOfLife()
  }

  /// On the watcher's thread, which all stores share: whatever may wait for the file goes to the store's own queue.
  private func hear(_ event: FileWatcher.Event) {
    feed.advance(to: latestRevision)
    guard event == .interval || wake.hasFailed else { return }
    let isFirst = state.withLock { state in
      defer { state.isChecking = true }
      if state.listens { wake.giveSignOfLife() }
      return !state.isChecking
    }
    guard isFirst else { return }
    checks.async { [weak self] in
      guard let self else { return }
      checkWakeFile()
      feed.advance(to: latestRevision)
      state.withLock { $0.isChecking = false }
    }
  }

  /// Finds what nobody has rung for: a writer that died between its commit and the bell, or a deleted wake-up file.
  private func checkWakeFile() {
    if place.isReplaced(identity) { return endAfterReplacement() }
    if wake.hasFailed { return writer.closeAfterFailureElsewhere() }
    if wake.reattach(), let watch = state.withLock({ $0.listens ? $0.watch : nil }) {
      FileWatcher.shared.listen(watch)
    }
    let known = wake.revision
    guard
      let (revision, restored) = try? readers.read({ (try $0.revision(), try History.restoration($0.connection)) })
    else { return }
    if restored != restoration { return end(History.wasRestored(place)) }
    if revision < known { return end(History.wentBack(from: known, to: revision, place)) }
    wake.raise(to: revision)
  }
}

extension SQLiteStore {
  /// Somebody has moved, deleted or replaced the file under us: what is written now would go nowhere.
  private func endAfterReplacement() {
    end(.replaced(place))
  }

  /// Ends the use of the store in this process.
  private func end(_ error: StorageError) {
    StoreRegistry.shared.remove(identity, token, mustVerify: false)
    writer.refuse(error)
  }
}

/// What opening a file finds out, on a connection that is closed again.
private struct Opening {
  let place: StorePlace
  let identity: FileIdentity
  let history: History
  let restoration: Int64?
  let wake: WakeFile
  let maximumValueSize: Int

  init(_ asked: StorePlace, configuration: SQLiteConfiguration, mustVerify: Bool) throws {
    var place = asked
    place.allowsUnsealedPages = asked.mayHaveUnsealedPages
    let connection = try Connection.toFile(at: place)
    try Schema.prepare(connection, mayCreate: configuration.createsIfMissing, clock: configuration.clock)
    try Schema.checkKind(connection, companionTables: configuration.companionTables)
    guard let identity = FileIdentity(place.path) else {
      throw StorageError.system("stat", path: place.path, errno: errno, backend: place.description)
    }
    self.identity = identity
    if place.allowsUnsealedPages { place.allowsUnsealedPages = try connection.sealPages() == .busy }
    self.place = place
    // SQLite counts the whole row; the other columns fit into a page.
    let limit = Int(sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, -1)) - 4_096
    maximumValueSize = min(configuration.maximumValueSize, limit)
    restoration = try History.restoration(connection)
    wake = try WakeFile(place)
    if mustVerify || wake.hasFailed { try Self.verify(connection, wake) }
    history = try History.agree(
      connection, wake, file: identity.inode, now: configuration.clock.now().unixMilliseconds)
  }

  /// After a failed sync the log is not to be trusted on the device, whatever memory says of it: its content is written
  /// to the database and synced there, and the log emptied, before the structure is checked. Then the sign of the
  /// failure is taken away, under the write lock.
  private static func verify(_ connection: Connection, _ wake: WakeFile) throws {
    try connection.emptyLog()
    try connection.execute("BEGIN IMMEDIATE")
    defer { connection.rollBack() }
    let statement = try connection.prepare("PRAGMA quick_check(1)")
    defer { statement.reset() }
    guard try statement.step(), statement.text(0) == "ok" else {
      throw StorageError(
        .damaged, "The database file is damaged: its pages do not fit together.",
        advice: "Keep a copy of the file and its -wal file, then restore a backup.",
        backend: connection.place.description)
    }
    wake.clearFailure()
  }
}

extension StorageError {
  /// The database file of an open store is not at its path any more.
  fileprivate static func replaced(_ place: StorePlace) -> StorageError {
    StorageError(
      .closed, "The database file was moved, deleted or replaced while the store was open.",
      advice: "Open the store again. The latest values may be in the file that was there before.",
      backend: place.description)
  }
}

extension StorePlace {
  /// Whether the path leads to another file or to none. That it cannot be looked up now (a permission was taken away)
  /// says nothing: the open file still works.
  fileprivate func isReplaced(_ opened: FileIdentity) -> Bool {
    if let present = FileIdentity(path) { return present != opened }
    return errno == ENOENT
  }
}
