import CofferCore
import CofferFileSystem
import Foundation

/// The writer, readers and feeds that all handles of one process on one database file share.
final class SQLiteStore: Sendable {
  private struct State {
    var handles = 1
    var watch: UInt64?
    var listens = false
    var isChecking = false
    /// When the database file had been changed last at the latest check.
    var changedAt: UInt64?
  }

  let file: StoreFile
  let identity: FileIdentity
  let token = StoreToken()
  let maximumValueSize: Int
  let clock: StoreClock
  /// The times of sweeps; `nil` for a store whose values are kept elsewhere, which are removed by their engine.
  let sweeping: SweepSchedule?
  let writer: Writer
  let readers: ReaderPool
  let feed: ChangeFeed
  let availabilityFeed: AvailabilityFeed
  /// The epoch of the history in which the store was opened.
  let epoch: UInt64
  /// The identity of the store, as in its wake-up file.
  let name: UInt64
  /// The loss of acknowledged commits that was not accepted yet, if any.
  let loss: Locked<LossReport?>
  let provenRows = Locked<RowProof?>(nil)
  /// The random number of the last restoration at the time of opening; `nil` if there was none.
  private let restoration: Int64?
  private let files: OpenFiles
  let wake: WakeFile
  let quarantine: Quarantine
  private let state = Locked(State())
  private let checks = DispatchQueue(label: "coffer.check", qos: .utility)

  /// Opens the file for this process. Blocks on disks and locks, so call it outside Swift's cooperative thread pool.
  init(file: StoreFile, configuration: SQLiteEngine.Configuration, mustVerify: Bool) throws {
    let opening = try Opening(file, configuration: configuration, mustVerify: mustVerify)
    let file = opening.file
    self.file = file
    identity = opening.identity
    maximumValueSize = opening.maximumValueSize
    clock = configuration.clock
    let sweeps = configuration.companionTables == nil && configuration.sweepsExpiredValues
    sweeping = sweeps ? SweepSchedule(isNeeded: opening.hasExpiries) : nil
    let wake = opening.wake
    let quarantine = Quarantine(file, configuration: configuration)
    let (identity, token, files) = (opening.identity, token, OpenFiles(opening.identity, file))
    self.files = files
    let readers = ReaderPool(first: try Reader(opening.connection, quarantine.report)) {
      try file.connect(files) { try Reader($0, quarantine.report) }
    }
    let feed = ChangeFeed(
      latest: opening.history.revision, capacity: min(4_096, max(1, configuration.journalRetention)),
      journal: { revision, limit in try readers.read { try $0.journalPage(after: revision, limit: limit) } })
    epoch = opening.history.epoch
    name = opening.history.store
    restoration = opening.restoration
    loss = Locked(opening.history.loss)
    availabilityFeed = AvailabilityFeed(
      opening.history.loss.map { .recovered(reason: $0.message) } ?? .available, events: configuration.events,
      location: file.description)
    let availability = availabilityFeed
    let listener = Writer.Listener(
      newest: { wake.revision },
      raise: { wake.raise(to: $0) },
      raiseDurable: { wake.raiseDurable(to: $0) },
      announce: { commits in
        guard !commits.isEmpty else { return }
        feed.publish(commits)
        wake.ring()
      },
      failure: SyncFailureFlag(isGiven: { wake.hasFailed }, give: { wake.fail() }),
      fail: { error in
        StoreRegistry.shared.remove(identity, token, mustVerify: true)
        readers.close(error)
        // Other processes check the failure mark as soon as they are notified.
        wake.ring()
        availability.set(.unavailable(reason: error.message))
        feed.finish()
      })
    var writing = configuration
    writing.maximumValueSize = opening.maximumValueSize
    writer = Writer(to: file, files, opening.history, configuration: writing, listener: listener)
    self.wake = wake
    self.quarantine = quarantine
    self.readers = readers
    self.feed = feed
    quarantine.connect(writer)
    writer.maySalvage.withLock { $0 = { [weak self] error in self?.maySalvage(error) ?? false } }
    // Not the directory, a watch of which would wake up for every write to the log.
    let watch = FileWatcher.shared.watch(file.wakePath) { [weak self] event in self?.handle(event) }
    state.withLock { ($0.watch, $0.changedAt) = (watch, opening.changedAt) }
  }

  deinit {
    if let watch = state.withLock({ $0.watch }) { FileWatcher.shared.unwatch(watch) }
    writer.abandon { [readers, file] in readers.close(.closed(file.description)) }
  }

  // MARK: Handles

  /// Increments the number of handles.
  /// - Returns: `false` if the last handle was closed already.
  func retain() -> Bool {
    state.withLock { state in
      guard state.handles > 0 else { return false }
      state.handles += 1
      return true
    }
  }

  /// Decrements the number of handles.
  /// - Returns: Whether it was the last handle.
  func release() -> Bool {
    state.withLock { state in
      state.handles -= 1
      return state.handles == 0
    }
  }

  /// Commits all pending batches and closes the store, after its last handle was closed.
  func closeNow() async {
    StoreRegistry.shared.remove(identity, token, mustVerify: false)
    if let watch = state.withLock({ $0.watch }) { FileWatcher.shared.unwatch(watch) }
    await writer.close()
    await withCheckedContinuation { continuation in checks.async { continuation.resume() } }
    readers.close(StorageError.closed(file.description))
    feed.finish()
    availabilityFeed.finish()
    wake.close()
  }

  // MARK: Other processes

  /// Starts listening for commits of other processes. Deferred until the first subscriber, since the commits of this
  /// process cause notifications too.
  func listen() {
    let watch = state.withLock { state -> UInt64? in
      guard !state.listens else { return nil }
      state.listens = true
      return state.watch
    }
    guard let watch else { return }
    FileWatcher.shared.listen(watch)
    wake.giveSignOfLife()
  }

  /// Handles an event of the wake-up file. Runs on the watcher's thread, which all stores share, so work that may block
  /// on the file is dispatched to the store's own queue.
  private func handle(_ event: FileWatcher.Event) {
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

  /// Detects changes without a notification: a writer that died between its commit and the notification, a deleted
  /// wake-up file, or a replaced store.
  private func checkWakeFile() {
    if file.isReplaced(files) { return endAfterReplacement() }
    if wake.hasFailed { return writer.closeAfterFailureElsewhere() }
    if wake.reattach(), let watch = state.withLock({ $0.listens ? $0.watch : nil }) {
      FileWatcher.shared.listen(watch)
    }
    let known = wake.revision
    guard
      let (revision, restored) = try? readers.read({ (try $0.revision(), try StoreMeta($0.connection).restoration) })
    else { return }
    if restored != restoration { return end(History.wasRestored(file)) }
    if let other = otherRevision(than: known) { return end(History.wentBack(from: known, to: other, file)) }
    if revision < known { return end(History.wentBack(from: known, to: revision, file)) }
    wake.raise(to: revision)
  }
}

extension SQLiteStore {
  /// Returns the newest revision of another store, or of an older copy of this one, that was copied over the database
  /// file; `nil` if there is none.
  ///
  /// SQLite does not notice that: its connections have the old pages in memory. So a new connection looks, whenever the
  /// file has changed, and again if it could not.
  /// - Parameter known: a revision that was committed before.
  private func otherRevision(than known: StoreRevision) -> StoreRevision? {
    let changedAt = file.changedAt
    guard state.withLock({ $0.changedAt }) != changedAt, let found = try? file.connect(files, { try History($0) })
    else { return nil }
    state.withLock { $0.changedAt = changedAt }
    return found.store != name || found.revision < known ? found.revision : nil
  }

  /// Ends the use of a store whose file was moved, deleted or replaced: further writes would be lost.
  private func endAfterReplacement() {
    end(.replaced(file))
  }

  /// Ends the use of the store in this process; its handles report `error`.
  private func end(_ error: StorageError) {
    StoreRegistry.shared.remove(identity, token, mustVerify: false)
    writer.refuse(error)
  }
}

/// The state of a database file as opening determines it, on the connection that becomes the first reader's.
private struct Opening {
  let connection: Connection
  let file: StoreFile
  let identity: FileIdentity
  let history: History
  let restoration: Int64?
  let wake: WakeFile
  let changedAt: UInt64?
  let maximumValueSize: Int
  let hasExpiries: Bool

  init(_ asked: StoreFile, configuration: SQLiteEngine.Configuration, mustVerify: Bool) throws {
    var file = asked
    let closing = WakeWords(ofFileAt: file.wakePath)
    changedAt = file.changedAt
    let found = try Self.prepared(file, closing, configuration) ?? Self.created(file)
    connection = found.connection
    try Schema.checkKind(connection, found.meta, companionTables: configuration.companionTables)
    guard let identity = FileIdentity(file.path) else {
      throw StorageError.system("stat", path: file.path, errno: errno, location: file.description)
    }
    self.identity = identity
    if connection.allowsUnsealedPages { file.allowsUnsealedPages = try connection.sealPages() == .busy }
    connection.allowsUnsealedPages = file.allowsUnsealedPages
    connection.releaseMemory()  // Pages that were accepted without a checksum are read again.
    self.file = file
    maximumValueSize = min(configuration.maximumValueSize, connection.maximumValueSize)
    restoration = found.meta.restoration
    hasExpiries = found.hasExpiries
    wake = try WakeFile(file)
    var read = found.history
    if mustVerify || wake.hasFailed {
      try Self.verify(connection, wake)
      read = try History(connection)
    }
    history = try History.agree(
      read, connection, wake, file: identity.inode, changedAt: changedAt, closing: closing,
      now: configuration.clock.now().unixMilliseconds)
  }

  /// What an opening reads, in one transaction: each of its own would take and release a lock.
  private struct Found {
    let connection: Connection
    let meta: StoreMeta
    let history: History
    let hasExpiries: Bool

    init(_ connection: Connection, _ meta: StoreMeta) throws {
      (self.connection, self.meta) = (connection, meta)
      history = try History(connection, meta)
      hasExpiries = try connection.hasTable(ExpiryTable.name)
    }
  }

  /// Opens the database and prepares its tables.
  /// - Returns: `nil` after the tables were created. The connection is closed then, which copies them into the database
  ///   file, so that they outlive a lost log.
  private static func prepared(
    _ file: StoreFile, _ closing: WakeWords?, _ configuration: SQLiteEngine.Configuration
  ) throws -> Found? {
    let connection = try Connection.toFile(at: file, closing)
    defer { connection.rollBack() }
    return try Schema.prepare(
      connection, mayCreate: configuration.createsIfMissing, clock: configuration.clock
    ).map { try Found(connection, $0) }
  }

  private static func created(_ file: StoreFile) throws -> Found {
    let connection = try Connection.toFile(at: file, nil)
    defer { connection.rollBack() }
    return try Found(connection, StoreMeta(connection))
  }

  /// Recovers from a failed sync, after which the log on the device cannot be trusted, whatever the page cache holds.
  ///
  /// The log is copied into the database, synced there and emptied, before the structure is checked. Then the failure
  /// mark is removed, under the write lock.
  private static func verify(_ connection: Connection, _ wake: WakeFile) throws {
    try connection.emptyLog()
    try connection.execute("BEGIN IMMEDIATE")
    defer { connection.rollBack() }
    let statement = try connection.prepare("PRAGMA quick_check(1)")
    defer { statement.reset() }
    guard try statement.step(), statement.text(0) == "ok" else {
      throw StorageError(
        .damaged, "The database file is damaged: its pages are inconsistent.",
        advice: "Keep a copy of the file and its -wal file, then restore a backup.",
        location: connection.file.description)
    }
    wake.clearFailure()
  }
}

extension StoreFile {
  /// When the database file was changed last, in nanoseconds, including its owner, mode and names; `nil` if it cannot
  /// be looked up.
  var changedAt: UInt64? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return UInt64(bitPattern: status.changedAt)
  }
}
