import CofferCSQLite
import CofferCore
import CofferFileSystem
import CofferLocks
import Foundation

/// A store that is open for reading only. It writes nothing and makes no file; what others write is looked for.
final class ReadOnlyStore: Sendable {
  private struct State {
    var view: ReadOnlyView?
    var known: StoreRevision
    var epoch: UInt64
    /// Why nothing is read any more.
    var end: StorageError?
    var watch: UInt64?
    var isLooking = false
  }

  let place: StorePlace
  let maximumValueSize: Int
  /// What whoever wants to write is told.
  let refusal: StorageError
  /// The history that the store is in.
  var epoch: UInt64 { state.withLock { $0.epoch } }
  let loss: LossReport?
  private let identity: FileIdentity
  private let feed: ChangeFeed
  private let availabilityFeed: AvailabilityFeed
  private let onDamage: @Sendable (Finding) -> Void
  private let state: Locked<State>

  /// How often something is read again that somebody has written to meanwhile.
  private static let attempts = 16
  private static let queue = DispatchQueue(label: "coffer.readonly", attributes: .concurrent)

  /// Opens an existing store. Slow, so not for a thread that tasks share.
  init(_ place: StorePlace, _ configuration: SQLiteConfiguration, because reason: String) throws {
    guard let identity = FileIdentity(place.path) else {
      throw StorageError.system("stat", path: place.path, errno: errno, backend: place.description)
    }
    // Read before the journal, which a writer may go on with.
    let words = WakeWords(ofFileAt: place.wakePath)
    let damage = DamageReports(place, configuration)
    let report: @Sendable (Finding) -> Void = { damage.report($0) }
    let view = try ReadOnlyView(place, onDamage: report)
    let (history, limit) = try view.readers.read { reader in
      try Schema.checkKind(reader.connection, companionTables: configuration.companionTables)
      return (try History(reader.connection), reader.connection.maximumValueSize)
    }
    let loss = history.loss(knowing: words, foundAt: configuration.clock.now())
    self.place = place
    self.identity = identity
    self.loss = loss
    maximumValueSize = min(configuration.maximumValueSize, limit)
    refusal = StorageError(
      .permissionDenied, "The store is open for reading only: \(reason)",
      advice: "Nothing was written. Open it again where it may be written.", backend: place.description)
    onDamage = report
    let state = Locked(State(view: view, known: history.revision, epoch: history.epoch))
    self.state = state
    // The feed reads the journal by what is open then.
    let journal = Locked<(@Sendable (StoreRevision, Int) throws -> JournalPage)?>(nil)
    feed = ChangeFeed(latest: history.revision, capacity: 0) { revision, limit in
      guard let read = journal.withLock({ $0 }) else { throw StorageError.closed("") }
      return try read(revision, limit)
    }
    availabilityFeed = AvailabilityFeed(loss.map { .recovered(reason: $0.message) } ?? .available)
    journal.withLock { journal in
      journal = { [weak self] revision, limit in
        guard let self else { throw StorageError.closed("") }
        return try read { try $0.journalPage(after: revision, limit: limit) }
      }
    }
    let watch = FileWatcher.shared.watch(place.path) { [weak self] event in
      if event == .interval { self?.lookBesides() }
    }
    state.withLock { $0.watch = watch }
  }

  deinit { close() }

  // MARK: Reading

  func entry(_ key: StoreKey) throws -> StoreEntry? {
    try read({ try $0.entry(key) }, past: { try $0.salvage(key, after: $1) })
  }

  func summary(of key: StoreKey) throws -> StoreEntrySummary? {
    try read({ try $0.summary(of: key) }, past: { try $0.salvage(key, after: $1).map(StoreEntrySummary.init) })
  }

  /// Reads one state of the store.
  /// - Parameter salvage: tries again after an error.
  func read<R>(
    _ body: (Reader) throws -> R, past salvage: (ReadOnlyView, any Error) throws -> R = { throw $1 }
  ) throws -> R {
    for _ in 0..<Self.attempts {
      let view = try view()
      let result = Result {
        do { return try view.readers.read(body) } catch { return try salvage(view, error) }
      }
      // While nobody can be kept from writing, what was read counts only if nobody has.
      if try view.isCurrent() { return try result.mapError { $0.withoutQuarantine }.get() }
    }
    throw StorageError.changedMeanwhile(place.description)
  }

  /// The files as they are opened now, and what is known to be lost.
  func toVerify() throws -> (StorePlace, LossReport?) { (try view().place, loss) }

  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
    let view = try view()
    return try await view.readers.withReader { reader in
      let snapshot = try ReadOnlySnapshot(reader, view)
      defer { snapshot.end() }
      return try await body(snapshot)
    }
  }

  /// The readers of the present state.
  private func view() throws -> ReadOnlyView {
    let open = try state.withLock { state in
      if let end = state.end { throw end }
      return state.view
    }
    if let open, try open.isCurrent() { return open }
    let fresh = try ReadOnlyView(place, onDamage: onDamage)
    try requireSameHistory(fresh)
    try state.withLock { state in
      if let end = state.end { throw end }
      state.view = fresh
    }
    return fresh
  }

  private func requireSameHistory(_ view: ReadOnlyView) throws {
    guard FileIdentity(place.path) == identity else {
      throw ended(
        StorageError(
          .closed, "The database file was moved, deleted or replaced while the store was open.",
          advice: "Open the store again. The latest values may be in the file that was there before.",
          backend: place.description))
    }
    let (known, epoch) = state.withLock { ($0.known, $0.epoch) }
    let (history, then) = try view.readers.read { (try History($0.connection), try $0.epoch(of: known)) }
    // A new epoch goes on with this history when the commit that is known is still one of the old one's.
    guard history.revision >= known, history.epoch == epoch || known == .zero || then == epoch else {
      throw ended(History.wentBack(from: known, to: history.revision, place))
    }
    state.withLock { $0.epoch = history.epoch }
  }

  // MARK: Following

  /// The newest revision of the journal, read from it; what was known last while it cannot be read.
  var latestRevision: StoreRevision {
    guard let found = try? read({ try $0.revision() }) else { return state.withLock { $0.known } }
    return state.withLock { state in
      state.known = max(state.known, found)
      return state.known
    }
  }

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    let latest = latestRevision
    guard revision < latest else { return [] }
    let limit = 256
    guard latest.rawValue - revision.rawValue <= UInt64(limit),
      let page = try? read({ try $0.journalPage(after: revision, limit: limit) }),
      page.isContiguous, let last = page.commits.last, last.revision >= latest
    else { return nil }
    return page.commits
  }

  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    feed.advance(to: latestRevision)
    return feed.subscribe(since: position?.revision, isForeign: position.map(isForeign) ?? false)
  }

  /// Whether a position is of another history than this store's.
  private func isForeign(_ position: JournalPosition) -> Bool {
    guard position.epoch != epoch else { return false }
    let found = try? read { try $0.epoch(of: position.revision) }
    return found != position.epoch
  }

  func availability() -> AsyncStream<StoreAvailability> { availabilityFeed.subscribe() }

  /// Looks for what others have written, beside the watcher's thread.
  private func lookBesides() {
    let isFree = state.withLock { state in
      defer { state.isLooking = true }
      return !state.isLooking && state.end == nil
    }
    guard isFree else { return }
    Self.queue.async { [self] in
      look()
      state.withLock { $0.isLooking = false }
    }
  }

  private func look() {
    do {
      let found = try read { try $0.revision() }
      availabilityFeed.set(loss.map { .recovered(reason: $0.message) } ?? .available)
      state.withLock { $0.known = max($0.known, found) }
      feed.advance(to: found)
    } catch {
      guard let error = error as? StorageError, state.withLock({ $0.end == nil }) else { return }
      availabilityFeed.set(.unavailable(reason: error.message))
    }
  }

  // MARK: The end

  func close() { _ = ended(StorageError.closed(place.description), finally: true) }

  /// Ends the use of the store, because of an error or of its closing.
  private func ended(_ error: StorageError, finally: Bool = false) -> StorageError {
    let (watch, view) = state.withLock { state in
      defer { (state.watch, state.view, state.end) = (nil, nil, state.end ?? error) }
      return (state.watch, state.view)
    }
    if let watch { FileWatcher.shared.unwatch(watch) }
    view?.readers.close(error)
    feed.finish()
    if finally { availabilityFeed.finish() } else { availabilityFeed.set(.unavailable(reason: error.message)) }
    return error
  }
}
