import CofferLocks

/// A page of a journal.
package struct JournalPage: Sendable {
  /// Commits in the order of their revisions.
  package let commits: [StoreCommit]
  /// Whether the first one directly follows the revision that was asked for; if not, the journal has forgotten some.
  package let isContiguous: Bool

  package init(commits: [StoreCommit], isContiguous: Bool) {
    self.commits = commits
    self.isContiguous = isContiguous
  }
}

/// Tells any number of subscribers of commits, each at its own pace.
///
/// The feed keeps no buffer per subscriber: a subscriber is a position. It reads the newest commits from one shared,
/// bounded list and older ones from the engine's journal; what even the journal has forgotten becomes one `reload`.
package final class ChangeFeed: Sendable {
  /// Reads up to a number of commits after a revision.
  package typealias Journal = @Sendable (StoreRevision, Int) async throws -> JournalPage

  fileprivate struct State {
    var latest: StoreRevision
    var recent: [StoreCommit] = []  // without gaps, the last one is `latest`
    var weight = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter: UInt64 = 0
    var isFinished = false
  }

  fileprivate enum Step {
    case deliver([StoreCommit])
    case readJournal(upTo: StoreRevision)
    case wait
    case end
  }

  /// How many commits a subscriber takes at once, and so how many one that is slow keeps.
  fileprivate static let pageSize = 32

  private let state: Locked<State>
  private let capacity: Int
  fileprivate let journal: Journal?

  /// - Parameters:
  ///   - latest: the store's revision now.
  ///   - capacity: how many changed keys the shared list holds.
  ///   - journal: where older commits are; `nil` when the shared list is all there is.
  package init(latest: StoreRevision, capacity: Int = 4_096, journal: Journal? = nil) {
    state = Locked(State(latest: latest))
    self.capacity = capacity
    self.journal = journal
  }

  /// The newest revision that subscribers have been told of.
  package var latest: StoreRevision { state.withLock { $0.latest } }

  /// Announces commits of this process. They may leave a gap after what was announced before: the commits of others.
  package func publish(_ commits: [StoreCommit]) {
    guard let last = commits.last else { return }
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      guard last.revision > state.latest else { return [] }
      for commit in commits where commit.revision > state.latest {
        if commit.revision != state.latest.next { state.forgetRecent() }
        state.recent.append(commit)
        state.weight += commit.weight
        state.latest = commit.revision
      }
      state.trim(to: capacity)
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Announces that others have committed up to `revision`; the journal knows what.
  package func advance(to revision: StoreRevision) {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      guard revision > state.latest else { return [] }
      state.forgetRecent()
      state.latest = revision
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// The commits after `revision`, if the shared list has all of them.
  package func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    state.withLock { $0.commits(after: revision) }
  }

  /// A stream for one subscriber, at its position when this returns; it also ends when its group does.
  /// - Parameter isForeign: whether the revision is one of another history.
  package func subscribe(
    since revision: StoreRevision?, isForeign: Bool = false, group: SubscriptionGroup? = nil
  ) -> AsyncStream<StoreChange> {
    let latest = latest
    // A position of another life of the store, before a backup was restored, must not wait for ever.
    let isAhead = isForeign || revision.map { $0 > latest } ?? false
    let cursor = isAhead ? latest : revision ?? latest
    let subscription = Subscription(feed: self, cursor: cursor, mustReload: isAhead, group: group)
    return AsyncStream { await subscription.next() }
  }

  /// Ends the streams of one group.
  package func finish(_ group: SubscriptionGroup) {
    let waiters = state.withLock { state in
      group.isFinished.withLock { $0 = true }
      return state.takeWaiters()  // the others look again and go on waiting
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Ends all streams, once they have delivered what the shared list holds.
  package func finish() {
    let waiters = state.withLock { state in
      state.isFinished = true
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }

  fileprivate func step(from cursor: StoreRevision, group: SubscriptionGroup?) -> Step {
    state.withLock { state in
      let isFinished = state.isFinished || group?.isFinished.withLock { $0 } ?? false
      guard cursor < state.latest else { return isFinished ? .end : .wait }
      if let commits = state.commits(after: cursor, limit: Self.pageSize) { return .deliver(commits) }
      return isFinished ? .end : .readJournal(upTo: state.latest)
    }
  }

  /// Returns when there is something after `cursor`, the feed has ended, or the task is cancelled.
  fileprivate func wait(beyond cursor: StoreRevision, group: SubscriptionGroup?) async {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          // A cancellation before this point has set the flag already; one after it finds the waiter.
          let isFinished = state.isFinished || group?.isFinished.withLock { $0 } ?? false
          if state.latest > cursor || isFinished || Task.isCancelled { return true }
          state.waiters[id] = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
  }
}

extension ChangeFeed.State {
  fileprivate mutating func forgetRecent() {
    recent.removeAll(keepingCapacity: true)
    weight = 0
  }

  /// Drops the older half once the list is too heavy, so that dropping costs little per commit.
  fileprivate mutating func trim(to capacity: Int) {
    guard weight > capacity else { return }
    var dropped = 0
    while weight > capacity / 2, dropped < recent.count - 1 {
      weight -= recent[dropped].weight
      dropped += 1
    }
    recent.removeFirst(dropped)
  }

  fileprivate func commits(after revision: StoreRevision, limit: Int = .max) -> [StoreCommit]? {
    guard revision < latest else { return [] }
    guard let first = recent.first, first.revision.rawValue <= revision.rawValue + 1 else { return nil }
    return Array(recent[Int(revision.rawValue + 1 - first.revision.rawValue)...].prefix(limit))
  }

  fileprivate mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
    guard !waiters.isEmpty else { return [] }
    defer { waiters.removeAll() }
    return Array(waiters.values)
  }
}

extension StoreCommit {
  fileprivate var weight: Int { 1 + changed.keys.count + changed.prefixes.count }
}

/// The subscriptions of one handle, which end when the handle is closed although others still use the store.
package final class SubscriptionGroup: Sendable {
  fileprivate let isFinished = Locked(false)

  package init() {}
}

/// One subscriber's position in a feed.
private final class Subscription: Sendable {
  private struct State {
    var cursor: StoreRevision
    var mustReload: Bool
    var pending: ArraySlice<StoreCommit> = []
  }

  private let feed: ChangeFeed
  private let group: SubscriptionGroup?
  private let state: Locked<State>

  init(feed: ChangeFeed, cursor: StoreRevision, mustReload: Bool, group: SubscriptionGroup?) {
    self.feed = feed
    self.group = group
    state = Locked(State(cursor: cursor, mustReload: mustReload))
  }

  func next() async -> StoreChange? {
    let reload = state.withLock { state in
      defer { state.mustReload = false }
      return state.mustReload ? StoreChange.reload(upTo: state.cursor) : nil
    }
    if let reload { return reload }
    while !Task.isCancelled {
      if let commit = takePending() { return .commit(commit) }
      let cursor = state.withLock { $0.cursor }
      switch feed.step(from: cursor, group: group) {
      case .deliver(let commits): state.withLock { $0.pending = commits[...] }
      case .wait: await feed.wait(beyond: cursor, group: group)
      case .end: return nil
      case .readJournal(let latest):
        if let reload = await readJournal(after: cursor, latest: latest) { return reload }
      }
    }
    return nil
  }

  private func takePending() -> StoreCommit? {
    state.withLock { state in
      guard let commit = state.pending.popFirst() else { return nil }
      if state.pending.isEmpty { state.pending = [] }  // An empty slice keeps the array that it is of.
      state.cursor = commit.revision
      return commit
    }
  }

  /// Fills `pending`, or says that the journal cannot tell.
  private func readJournal(after cursor: StoreRevision, latest: StoreRevision) async -> StoreChange? {
    if let journal = feed.journal, let page = try? await journal(cursor, ChangeFeed.pageSize), page.isContiguous,
      !page.commits.isEmpty
    {
      state.withLock { $0.pending = page.commits[...] }
      return nil
    }
    state.withLock { $0.cursor = latest }
    return .reload(upTo: latest)
  }
}
