/// A page of a journal.
package struct JournalPage: Sendable {
  /// The commits of the page, in the order of their revisions.
  package let commits: [StoreCommit]
  /// Whether the first commit directly follows the requested revision; if not, the journal has been trimmed past it.
  package let isContiguous: Bool

  package init(commits: [StoreCommit], isContiguous: Bool) {
    self.commits = commits
    self.isContiguous = isContiguous
  }
}

/// Delivers commits to any number of subscribers, each at its own pace.
///
/// The feed keeps no buffer per subscriber: a subscriber is a cursor. It reads the newest commits from one shared,
/// bounded list and older ones from the engine's journal. Commits that the journal no longer holds are replaced by one
/// `reload`.
package final class ChangeFeed: Sendable {
  /// Reads up to a number of commits after a revision.
  package typealias Journal = @Sendable (StoreRevision, Int) async throws -> JournalPage

  fileprivate struct State {
    var latest: StoreRevision
    var recent: [StoreCommit] = []  // without gaps, the last one is `latest`
    var weight = 0
    var waiting = FairQueue<Void>()
    var isFinished = false
    /// Increased when what was announced belongs to another history.
    var generation = 0
  }

  fileprivate enum Step {
    case deliver([StoreCommit])
    case readJournal
    case wait
    /// What was announced belongs to another history since.
    case reload(upTo: StoreRevision, generation: Int)
    case end
  }

  /// The number of commits that a subscriber takes at once, and so the most that a slow one retains.
  fileprivate static let pageSize = 32

  private let state: Locked<State>
  private let capacity: Int
  fileprivate let journal: Journal?

  /// Creates a feed of the commits after a revision.
  /// - Parameters:
  ///   - latest: the current revision of the store.
  ///   - capacity: the number of changed keys that the shared list holds.
  ///   - journal: reads older commits; `nil` if the engine keeps none beyond the shared list.
  package init(latest: StoreRevision, capacity: Int = 4_096, journal: Journal? = nil) {
    state = Locked(State(latest: latest))
    self.capacity = capacity
    self.journal = journal
  }

  /// The newest revision that has been announced to subscribers.
  package var latest: StoreRevision { state.withLock { $0.latest } }

  /// Announces commits of this process. A gap before them stands for commits of other processes.
  package func publish(_ commits: [StoreCommit]) {
    guard let newest = commits.last?.revision else { return }
    let waiters = state.withLock { state -> [FairQueue<Void>.Waiter] in
      guard newest > state.latest else { return [] }
      for index in commits.indices where commits[index].revision > state.latest {
        let revision = commits[index].revision
        if revision != state.latest.next { state.forgetRecent() }
        state.recent.append(commits[index])
        state.weight += commits[index].weight
        state.latest = revision
      }
      state.trim(to: capacity)
      return state.waiting.takeAll()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Announces that other processes have committed up to `revision`. Subscribers read those commits from the journal.
  package func advance(to revision: StoreRevision) {
    let waiters = state.withLock { state -> [FairQueue<Void>.Waiter] in
      guard revision > state.latest else { return [] }
      state.forgetRecent()
      state.latest = revision
      return state.waiting.takeAll()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Lets all subscribers read everything again: what they have heard belongs to another history, which has reached
  /// `revision`. The newest revision does not go back.
  package func restart(at revision: StoreRevision) {
    let waiters = state.withLock { state in
      state.forgetRecent()
      state.latest = max(state.latest, revision)
      state.generation += 1
      return state.waiting.takeAll()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// The newest revision, and the generation that it belongs to.
  fileprivate var present: (latest: StoreRevision, generation: Int) {
    state.withLock { ($0.latest, $0.generation) }
  }

  /// Returns the commits after `revision`, or `nil` if the shared list does not hold all of them.
  package func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    state.withLock { $0.commits(after: revision) }
  }

  /// Returns a stream for one subscriber, positioned when this returns. It also ends when its group is finished.
  /// - Parameter isForeign: whether the revision belongs to another history of the store.
  package func subscribe(
    since revision: StoreRevision?, isForeign: Bool = false, group: SubscriptionGroup? = nil
  ) -> AsyncStream<StoreChange> {
    let latest = latest
    // A revision of an earlier history, before a backup was restored, may never be reached again.
    let isAhead = isForeign || revision.map { $0 > latest } ?? false
    let cursor = isAhead ? latest : revision ?? latest
    let subscription = Subscription(feed: self, cursor: cursor, mustReload: isAhead, group: group)
    return AsyncStream { await subscription.next() }
  }

  /// Ends the streams of one group.
  package func finish(_ group: SubscriptionGroup) {
    let waiters = state.withLock { state in
      group.isFinished.withLock { $0 = true }
      return state.waiting.takeAll()  // subscribers of other groups check again and continue to wait
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Ends all streams, once they have delivered what the shared list holds.
  package func finish() {
    let waiters = state.withLock { state in
      state.isFinished = true
      return state.waiting.takeAll()
    }
    for waiter in waiters { waiter.resume() }
  }

  fileprivate func step(from cursor: StoreRevision, in generation: Int, group: SubscriptionGroup?) -> Step {
    state.withLock { state in
      if state.generation != generation { return .reload(upTo: state.latest, generation: state.generation) }
      let isFinished = state.isFinished || group?.isFinished.withLock { $0 } ?? false
      guard cursor < state.latest else { return isFinished ? .end : .wait }
      if let commits = state.commits(after: cursor, limit: Self.pageSize) { return .deliver(commits) }
      return isFinished ? .end : .readJournal
    }
  }

  /// Waits until there is a commit after `cursor`, the feed has ended, or the task is cancelled.
  fileprivate func wait(beyond cursor: StoreRevision, in generation: Int, group: SubscriptionGroup?) async {
    try? await state.wait(in: \.waiting) { state in
      let isFinished = state.isFinished || group?.isFinished.withLock { $0 } ?? false
      return state.latest > cursor || state.generation != generation || isFinished ? () : nil
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
}

extension StoreCommit {
  fileprivate var weight: Int { 1 + changed.keys.count + changed.prefixes.count }
}

/// The subscriptions of one handle, which end when that handle is closed while other handles keep the store open.
package final class SubscriptionGroup: Sendable {
  fileprivate let isFinished = Locked(false)

  package init() {}
}

/// The cursor of one subscriber in a feed.
private final class Subscription: Sendable {
  private struct State {
    var cursor: StoreRevision
    var mustReload: Bool
    var pending: ArraySlice<StoreCommit> = []
    var generation: Int
  }

  private let feed: ChangeFeed
  private let group: SubscriptionGroup?
  private let state: Locked<State>

  init(feed: ChangeFeed, cursor: StoreRevision, mustReload: Bool, group: SubscriptionGroup?) {
    self.feed = feed
    self.group = group
    state = Locked(State(cursor: cursor, mustReload: mustReload, generation: feed.present.generation))
  }

  func next() async -> StoreChange? {
    let reload = state.withLock { state in
      defer { state.mustReload = false }
      return state.mustReload ? StoreChange.reload(upTo: state.cursor) : nil
    }
    if let reload { return reload }
    while !Task.isCancelled {
      if let commit = takePending() { return .commit(commit) }
      let (cursor, generation) = state.withLock { ($0.cursor, $0.generation) }
      switch feed.step(from: cursor, in: generation, group: group) {
      case .deliver(let commits): state.withLock { $0.pending = commits[...] }
      case .wait: await feed.wait(beyond: cursor, in: generation, group: group)
      case .end: return nil
      case .reload(let latest, let generation): return passOver(to: latest, generation)
      case .readJournal:
        if let reload = await readJournal(after: cursor) { return reload }
      }
    }
    return nil
  }

  /// Continues at a revision, and returns the reload to deliver for what is passed over.
  private func passOver(to latest: StoreRevision, _ generation: Int) -> StoreChange {
    state.withLock { ($0.cursor, $0.generation) = (latest, generation) }
    return .reload(upTo: latest)
  }

  private func takePending() -> StoreCommit? {
    state.withLock { state in
      guard let commit = state.pending.popFirst() else { return nil }
      if state.pending.isEmpty { state.pending = [] }  // An empty slice would retain its whole array.
      state.cursor = commit.revision
      return commit
    }
  }

  /// Fills `pending` from the journal, or returns a reload if the journal no longer holds the commits.
  private func readJournal(after cursor: StoreRevision) async -> StoreChange? {
    if let journal = feed.journal, let page = try? await journal(cursor, ChangeFeed.pageSize), page.isContiguous,
      let last = page.commits.last
    {
      // The journal may be ahead of what was announced, and `latestRevision` must include what was delivered.
      feed.advance(to: last.revision)
      state.withLock { $0.pending = page.commits[...] }
      return nil
    }
    let (latest, generation) = feed.present
    return passOver(to: latest, generation)
  }
}
