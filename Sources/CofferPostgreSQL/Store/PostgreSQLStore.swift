import CofferCore
import Foundation

/// A store of a database, which all handles of one process on it share.
final class PostgreSQLStore: Sendable {
  private struct State {
    var handles = 1
    var epoch: UInt64
    var watch: HeadWatch?
    var isClosed = false
  }

  let database: PostgreSQLDatabase
  /// The identifier of the store, which leads every key.
  let id: Int64
  let name: String
  let location: String
  let features: StoreCapabilities.Features
  let isReadOnly: Bool
  let feed: ChangeFeed
  let condition: StoreCondition
  let sweeping: SweepSchedule
  let history = HistoryCheck()
  private let quarantined = Locked<Set<Finding.Identity>>([])
  private let upkeep = Locked(Upkeep())
  private let state: Locked<State>
  private let queue = CommitQueue()

  init(_ database: PostgreSQLDatabase, _ opened: OpenedStore) {
    self.database = database
    (id, name, location) = (opened.id, opened.name, opened.location)
    (features, isReadOnly) = (opened.features, opened.isReadOnly)
    state = Locked(State(epoch: opened.epoch))
    sweeping = SweepSchedule(isNeeded: opened.hasExpiries)
    condition = StoreCondition(
      AvailabilityFeed(events: database.configuration.events, location: opened.location))
    if let transaction = opened.newestTransaction {
      history.note(opened.newestCommit, transaction)
      history.see(HistoryCheck.Known(revision: opened.newestCommit, transaction: transaction))
    }
    let reader = JournalReader(database: database, store: opened.id, history: history)
    feed = ChangeFeed(
      latest: opened.head, capacity: min(4_096, max(1, database.configuration.journalRetention)),
      journal: { try await reader.page(after: $0, limit: $1) })
    history.setCheck { [weak self] in try await self?.checkHistory() ?? false }
    database.add(condition, history, of: self)
  }

  deinit { database.remove(self) }

  var clock: StoreClock { database.configuration.common.clock }
  var deadline: Duration { database.deadline }
  var epoch: UInt64 { state.withLock { $0.epoch } }
  var latestRevision: StoreRevision { feed.latest }
  var latestPosition: JournalPosition { JournalPosition(epoch: epoch, revision: latestRevision) }

  func error(_ failure: ExchangeFailure) -> StorageError { database.error(failure, at: location) }

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

  /// Commits all pending batches, and ends the streams, after the last handle was closed.
  func close() async {
    await queue.close(StorageError.closed(location))
    let watch = state.withLock { state in
      state.isClosed = true
      return state.watch
    }
    if let watch {
      watch.stop()
      database.hints.stopListening(id, watch.bell)
    }
    feed.finish()
    database.remove(self)
    condition.availability.finish()
  }

  func drain() async { await queue.drain() }

  // MARK: Committing

  func commit(_ request: CommitRequest) async throws -> StoreCommit {
    try await queue.commit(request) { [self] in await commit($0) }
  }

  /// Commits a group, then tells it to subscribers before its callers are resumed.
  private func commit(_ group: [CommitRequest]) async -> [Result<StoreCommit, any Error>] {
    let revisions = await StoreCommitter(store: self).commit(group)
    let results = zip(group, revisions).map { request, result in
      result.map { request.commit(at: $0, groupSize: group.count) }
    }
    let commits = zip(group, results).compactMap { request, result in request.isChange ? try? result.get() : nil }
    if let last = commits.last {
      let newest = last.revision
      // Subscribers must not take it for the successor of what they have heard, if that was lost.
      _ = try? await checkHistory()
      if let transaction = last.transaction { history.note(newest, transaction) }
      feed.publish(commits)
      database.hints.announce(id, newest, in: database)
      if upkeep.withLock({ $0.takeDue(at: newest, retention: database.configuration.journalRetention) }) {
        Task { await trimJournal() }
      }
    }
    return results
  }

  // MARK: Histories

  /// Records the head that a read has returned, with the newest revision known before the read began.
  ///
  /// A head below that revision belongs to a history that has lost commits, after a failover without a quorum or the
  /// restoration of a backup. The revisions then continue beyond those that were announced, under a new epoch.
  /// - Returns: `false` if the history has lost commits: the caller reads again.
  func agree(head: StoreRevision, epoch: UInt64, knownBefore: JournalPosition) async throws -> Bool {
    if try await checkHistory() { return false }
    // A handle that only reads changes nothing: the next one that writes lets the revisions continue.
    if head < knownBefore.revision, !isReadOnly {
      try await StoreCommitter(store: self).continueRevisions(beyond: latestRevision, ending: epoch)
      return false
    }
    // A read that began before another epoch did must not bring the old one back.
    state.withLock { if $0.epoch == knownBefore.epoch { $0.epoch = epoch } }
    return true
  }

  /// Records the head of a history that has replaced a lost one; all subscribers reload.
  func begin(epoch: UInt64, at head: StoreRevision) {
    state.withLock { $0.epoch = epoch }
    history.begin()
    feed.restart(at: head)
  }

  // MARK: Changes

  func changes(since position: JournalPosition?, group: SubscriptionGroup) -> AsyncStream<StoreChange> {
    watch()
    let isForeign = position.map { $0.epoch != epoch } ?? false
    return feed.subscribe(since: position?.revision, isForeign: isForeign, group: group)
  }

  /// Starts watching the head for commits of other processes. Deferred until the first subscriber.
  private func watch() {
    let started = state.withLock { state -> HeadWatch? in
      guard state.watch == nil, !state.isClosed else { return nil }
      let watch = HeadWatch()
      state.watch = watch
      return watch
    }
    guard let started else { return }
    database.hints.listen(id, started.bell, in: database)
    started.start(weakly: self)
  }

  // MARK: Damage

  /// Keeps a damaged value in the quarantine, and reports it once.
  func report(_ finding: Finding) {
    guard quarantined.withLock({ $0.insert(finding.identity).inserted }) else { return }
    database.configuration.common.emit(finding.report(at: location))
    guard !isReadOnly else { return }
    Task {
      do { try await keep(finding) } catch {
        _ = quarantined.withLock { $0.remove(finding.identity) }  // The next reader tries again.
      }
    }
  }
}
