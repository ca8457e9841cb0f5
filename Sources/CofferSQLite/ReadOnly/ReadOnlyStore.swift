import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

/// A store that is open for reading only. It writes nothing, creates no file and polls for the commits of others.
final class ReadOnlyStore: ReadableStore {
  private struct State {
    var view: ReadOnlyView?
    var known: StoreRevision
    var epoch: UInt64
    /// The error of every further use; `nil` while the store is open.
    var end: StorageError?
    var watch: UInt64?
    var isChecking = false
    /// When the database file had been changed last at the latest look.
    var changedAt: UInt64?
  }

  let file: StoreFile
  let maximumValueSize: Int
  let clock: StoreClock
  /// The epoch of the store's history.
  var epoch: UInt64 { state.withLock { $0.epoch } }
  let presentLoss: LossReport?
  private let identity: FileIdentity
  let feed: ChangeFeed
  let availabilityFeed: AvailabilityFeed
  private let quarantine: Quarantine
  private let state: Locked<State>

  /// How many times a read is attempted while other processes change the store.
  private static let attempts = 16
  private static let queue = DispatchQueue(label: "coffer.readonly", attributes: .concurrent)

  /// Opens an existing store. Blocks, so do not call it on a thread of the cooperative pool.
  init(_ file: StoreFile, _ configuration: SQLiteEngine.Configuration) throws {
    guard let identity = FileIdentity(file.path) else {
      throw StorageError.system("stat", path: file.path, errno: errno, location: file.description)
    }
    let changedAt = file.changedAt
    // Read before the journal, to which a writer may append meanwhile.
    let words = WakeWords(ofFileAt: file.wakePath)
    quarantine = Quarantine(file, configuration: configuration, isReadOnly: true)
    let view = try ReadOnlyView(file, quarantine)
    let (history, limit) = try view.readers.read { reader in
      let meta = try StoreMeta(reader.connection)
      try Schema.checkKind(reader.connection, meta, companionTables: configuration.companionTables)
      return (try History(reader.connection), reader.connection.maximumValueSize)
    }
    let loss = history.loss(knowing: words, foundAt: configuration.clock.now())
    self.file = file
    self.identity = identity
    presentLoss = loss
    clock = configuration.clock
    maximumValueSize = min(configuration.maximumValueSize, limit)
    let state = Locked(State(view: view, known: history.revision, epoch: history.epoch, changedAt: changedAt))
    self.state = state
    // The feed is created before `self` can be captured.
    let journal = Locked<(@Sendable (StoreRevision, Int) throws -> JournalPage)?>(nil)
    feed = ChangeFeed(latest: history.revision, capacity: 0) { revision, limit in
      guard let read = journal.withLock({ $0 }) else { throw StorageError.closed("") }
      return try read(revision, limit)
    }
    availabilityFeed = AvailabilityFeed(
      loss.map { .recovered(reason: $0.message) } ?? .available, events: configuration.storeEvents,
      location: file.description)
    journal.withLock { journal in
      journal = { [weak self] revision, limit in
        guard let self else { throw StorageError.closed("") }
        return try read { try $0.journalPage(after: revision, limit: limit) }
      }
    }
    let watch = FileWatcher.shared.watch(file.path) { [weak self] event in
      if event == .interval { self?.lookBesides() }
    }
    state.withLock { $0.watch = watch }
  }

  deinit { abandon() }

  // MARK: Reading

  /// Performs a read on one state of the store, again if the files change meanwhile.
  func read<R>(_ body: (Reader) throws -> R, past salvage: (any StoreView, any Error) throws -> R) throws -> R {
    for _ in 0..<Self.attempts {
      let view = try currentView()
      let result = Result {
        do { return try view.readers.read(body) } catch { return try salvage(view, error) }
      }
      // Without locks a result is valid only if the files have not changed.
      if try view.isCurrent() { return try result.get() }
    }
    throw StorageError.changedMeanwhile(file.description)
  }

  func readWithoutWaiting<R>(_ body: (Reader) throws -> R) throws -> R? { try read(body) }

  func view() throws -> any StoreView { try currentView() }

  func releaseMemory() async { state.withLock { $0.view }?.readers.closeIdle() }

  /// Returns the readers of the present state, opening the files again if they have changed.
  private func currentView() throws -> ReadOnlyView {
    let open = try state.withLock { state in
      if let end = state.end { throw end }
      return state.view
    }
    if let open, try open.isCurrent() { return open }
    let fresh = try ReadOnlyView(file, quarantine)
    try requireSameHistory(fresh)
    try state.withLock { state in
      if let end = state.end { throw end }
      state.view = fresh
    }
    return fresh
  }

  private func requireSameHistory(_ view: ReadOnlyView) throws {
    guard FileIdentity(file.path) == identity else {
      throw ended(
        StorageError(
          .closed, "The database file was moved, deleted or replaced while the store was open.",
          advice: "Open the store again. The latest values may be in the previous file.",
          location: file.description))
    }
    let (known, epoch) = state.withLock { ($0.known, $0.epoch) }
    let (history, then) = try view.readers.read { (try History($0.connection), try $0.epoch(of: known)) }
    // A new epoch continues this history if the last known commit still belongs to the old epoch.
    guard history.revision >= known, history.epoch == epoch || known == .zero || then == epoch else {
      throw ended(History.wentBack(from: known, to: history.revision, file))
    }
    state.withLock { $0.epoch = history.epoch }
  }

  // MARK: Following

  /// The newest revision in the journal, or the last known one if the journal cannot be read.
  var latestRevision: StoreRevision {
    guard let found = try? read({ try $0.revision() }) else { return state.withLock { $0.known } }
    return state.withLock { state in
      state.known = max(state.known, found)
      return state.known
    }
  }

  func listen() {}  // The watch polls.

  /// Polls for commits of other processes on a queue, so that the watcher's thread is not blocked.
  private func lookBesides() {
    let isFree = state.withLock { state in
      defer { state.isChecking = true }
      return !state.isChecking && state.end == nil
    }
    guard isFree else { return }
    Self.queue.async { [self] in
      noticeReplacement()
      state.withLock { $0.isChecking = false }
    }
  }

  private func noticeReplacement() {
    let changedAt = file.changedAt
    state.withLock { state in
      // Connections have the old pages of a database that another one was copied over: new ones compare the histories.
      if state.changedAt != changedAt { state.view = nil }
      state.changedAt = changedAt
    }
    do {
      let found = try read { try $0.revision() }
      availabilityFeed.set(presentLoss.map { .recovered(reason: $0.message) } ?? .available)
      state.withLock { $0.known = max($0.known, found) }
      feed.advance(to: found)
    } catch {
      guard let error = error as? StorageError, state.withLock({ $0.end == nil }) else { return }
      availabilityFeed.set(.unavailable(reason: error.message))
    }
  }

  // MARK: The end

  func close() async { abandon() }

  func abandon() { _ = ended(StorageError.closed(file.description), finally: true) }

  /// Ends the use of the store and returns the error, which every further use throws unless there is an earlier one.
  private func ended(_ error: StorageError, finally: Bool = false) -> StorageError {
    let (watch, view) = state.withLock { state in
      defer { (state.watch, state.view, state.end) = (nil, nil, state.end ?? error) }
      return (state.watch, state.view)
    }
    if let watch { FileWatcher.shared.unwatch(watch) }
    view?.readers.close(error)
    // First, so that a subscriber whose stream ends finds the reason.
    if finally { availabilityFeed.finish() } else { availabilityFeed.set(.unavailable(reason: error.message)) }
    feed.finish()
    return error
  }
}
