import Foundation

/// An engine that keeps all values in memory, for tests, previews and caches. Its content is lost when it is released.
///
/// ```swift
/// let engine = MemoryEngine()
/// let store = TypedStore(engine: engine)
/// ```
public final class MemoryEngine: ExpiringEngine {
  private struct State {
    var content = MemoryContent()
    var isClosed = false
  }

  private let state = Locked(State())
  private let feed: ChangeFeed
  private let epoch = UInt64.random(in: 1 ... .max)
  private let availabilityFeed = AvailabilityFeed()

  private let sweeping = SweepSchedule(isNeeded: false)

  public let description: String
  public let capabilities: StoreCapabilities
  public let clock: StoreClock
  public let events: CofferEvents?

  /// Creates an empty store.
  /// - Parameters:
  ///   - name: the name of the store in messages.
  ///   - clock: the clock that dates the commits and by which values expire.
  ///   - maximumValueSize: the largest value, in bytes; 1 GiB by default.
  ///   - journalCapacity: the number of changed keys that are kept for subscribers that start at an earlier revision;
  ///     4,096 by default.
  ///   - events: the hook that is told about commits; none by default.
  public init(
    name: String = "memory", clock: StoreClock = .system, maximumValueSize: Int = 1 << 30, journalCapacity: Int = 4_096,
    events: CofferEvents? = nil
  ) {
    self.events = events
    self.clock = clock
    description = "memory:\(name)"
    feed = ChangeFeed(latest: .zero, capacity: journalCapacity)
    capabilities = StoreCapabilities(
      [
        .atomicBatches, .preconditions, .snapshots, .listing, .replay, .revisions, .attributes, .systemRecords,
        .immediateRevisions,
      ], maximumValueSize: maximumValueSize)
  }

  public var latestRevision: StoreRevision { state.withLock { $0.content.revision } }
  public var latestPosition: JournalPosition { JournalPosition(epoch: epoch, revision: latestRevision) }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    guard let events else { return try commitUnlessCancelled(batch, from: origin) }
    return try await events.commit(batch, to: self) { try commitUnlessCancelled(batch, from: origin) }
  }

  private func commitUnlessCancelled(_ batch: WriteBatch, from origin: StoreOrigin) throws -> StoreCommit {
    try Task.checkCancellation()
    return try commitNow(batch, from: origin)
  }

  func commitNow(_ batch: WriteBatch, from origin: StoreOrigin) throws -> StoreCommit {
    try batch.check(capabilities, location: description)
    let now = clock.now().inMilliseconds
    return try state.withLock { state in
      guard !state.isClosed else { throw StorageError.closed(description) }
      let selection = batch.selection
      try state.content.check(batch, at: now, location: description)
      guard !selection.isEmpty else {
        return StoreCommit(
          revision: state.content.revision, transaction: batch.transaction, origin: origin, changed: .none, date: now)
      }
      state.content.apply(batch, at: now)
      let commit = StoreCommit(
        revision: state.content.revision, transaction: batch.transaction ?? .next(), origin: origin,
        changed: selection, date: now)
      feed.publish([commit])  // under the lock, so that commits are announced in their order
      if let cutoff = sweeping.takeDue(at: now, after: batch) { sweep(&state, upTo: cutoff, at: now) }
      return commit
    }
  }

  /// Removes expired values, in a separate commit.
  private func sweep(_ state: inout State, upTo cutoff: Date, at now: Date) {
    let expired = state.content.expired(at: cutoff, limit: SweepSchedule.limit)
    guard !expired.isEmpty else { return }
    if expired.count == SweepSchedule.limit { sweeping.noteMore() }
    let batch = WriteBatch(sweeping: expired)
    state.content.apply(batch, at: now)
    let commit = StoreCommit(
      revision: state.content.revision, transaction: .next(), origin: StoreOrigin(), changed: batch.selection,
      date: now)
    feed.publish([commit])
    guard let events else { return }
    let facts = StoreEvent.Commit(commit, batch, .relaxed, since: .now, isSweep: true)
    events.emitLater(description, .committed(facts))
  }

  public func entry(_ key: KeyName) async throws -> StoreEntry? { try entryNow(key) }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? { try content().records[name] }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard let summary = try content().summary(key), !summary.attributes.isExpired(at: clock.now()) else { return nil }
    return summary
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await withStoredSnapshot { try await body(PresentSnapshot($0, at: clock.now())) }
  }

  package func withStoredSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    let snapshot = MemorySnapshot(try content(), location: description)
    defer { snapshot.end() }
    return try await body(snapshot)
  }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { feed.recentCommits(after: revision) }

  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    feed.subscribe(since: position?.revision, isForeign: position.map { $0.epoch != epoch } ?? false)
  }

  public func availability() -> AsyncStream<StoreAvailability> { availabilityFeed.subscribe() }

  public func flush() async throws { _ = try content() }

  public func close() async throws {
    state.withLock { $0.isClosed = true }
    feed.finish()
    availabilityFeed.finish()
  }

  func content() throws -> MemoryContent {
    try state.withLock { state in
      guard !state.isClosed else { throw StorageError.closed(description) }
      return state.content
    }
  }
}

/// The content of a memory store. A copy is a snapshot: the dictionary is copied on the next write.
struct MemoryContent: Sendable {
  private struct Value {
    let data: Data
    let attributes: ValueAttributes
    let revision: StoreRevision
    let date: Date
  }

  private var values: [KeyName: Value] = [:]
  private(set) var records: [SystemRecord.Name: SystemRecord] = [:]
  private(set) var revision = StoreRevision.zero
  /// The dates from which values are absent.
  private var expiries: [KeyName: Date] = [:]

  var sortedKeys: [KeyName] { values.keys.sorted() }

  func entry(_ key: KeyName) -> StoreEntry? {
    values[key].map { StoreEntry(key: key, value: $0.data, revision: $0.revision, attributes: $0.attributes) }
  }

  func summary(_ key: KeyName) -> StoreEntry.Summary? {
    values[key].map {
      StoreEntry.Summary(
        key: key, size: $0.data.count, revision: $0.revision, date: $0.date, attributes: $0.attributes)
    }
  }

  /// Returns values that had expired at a date.
  func expired(at date: Date, limit: Int) -> [(key: KeyName, revision: StoreRevision)] {
    var expired: [(key: KeyName, revision: StoreRevision)] = []
    for key in expiries.keys where expired.count < limit {
      if let value = values[key], value.attributes.isExpired(at: date) { expired.append((key, value.revision)) }
    }
    return expired
  }

  func check(_ batch: WriteBatch, at date: Date, location: String) throws {
    for case .require(let key, let expected) in batch.operations
    where entry(key)?.present(at: date)?.revision != expected {
      throw StorageError.preconditionFailed(key, location: location)
    }
    for case .requireRecord(let name, let expected) in batch.operations where records[name]?.revision != expected {
      throw StorageError.preconditionFailed(name.key, location: location)
    }
    guard records[.keyRing] == nil else {
      guard records[.onlyEnvelopes] != nil, !batch.selection.records.contains(.keyRing),
        let key = batch.operations.firstPlainKey
      else { return }
      throw StorageError.takesOnlyEnvelopes(key, location: location)
    }
    for case .put(let key, let data, let attributes) in batch.operations
    where values[key]?.attributes.isSealed == true && SealedValue.isRefused(data, attributes) {
      throw StorageError.ringIsLost(location: location, key: key)
    }
  }

  mutating func apply(_ batch: WriteBatch, at date: Date) {
    revision = revision.next
    for operation in batch.operations {
      switch operation {
      case .put(let key, let data, let attributes):
        values[key] = Value(data: data, attributes: attributes, revision: revision, date: date)
        if !attributes.isEmpty || !expiries.isEmpty { expiries[key] = attributes.expires }
      case .delete(let key):
        values[key] = nil
        if !expiries.isEmpty { expiries[key] = nil }
      case .clear(let prefix?):
        values = values.filter { !$0.key.hasPrefix(prefix) }
        expiries = expiries.filter { !$0.key.hasPrefix(prefix) }
      case .clear(nil):
        values.removeAll()
        expiries.removeAll()
      case .putRecord(let name, let content):
        records[name] = SystemRecord(content: content, revision: revision)
      case .deleteRecord(let name): records[name] = nil
      case .require, .requireRecord: break
      }
    }
  }
}

private final class MemorySnapshot: StorageSnapshot {
  private struct State {
    var content: MemoryContent?
    var sortedKeys: [KeyName]?
  }

  let revision: StoreRevision
  private let location: String
  private let state: Locked<State>

  init(_ content: MemoryContent, location: String) {
    revision = content.revision
    self.location = location
    state = Locked(State(content: content))
  }

  func end() { state.withLock { $0.content = nil } }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { keys.map(try present().entry) }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try present().summary(key) }

  private func present() throws -> MemoryContent {
    try state.withLock { $0.content } ?? { throw StorageError.snapshotEnded(location) }()
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try list(prefix: prefix, after: after, limit: limit) { $0.entry($1) }
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try list(prefix: prefix, after: after, limit: limit) { $0.summary($1) }
  }

  private func list<R: Sendable>(
    prefix: KeyName?, after: KeyName?, limit: Int, _ item: (MemoryContent, KeyName) -> R?
  ) throws -> [R] {
    try state.withLock { state in
      guard let content = state.content else { throw StorageError.snapshotEnded(location) }
      let keys = state.sortedKeys ?? content.sortedKeys
      state.sortedKeys = keys
      // The prefix itself is the smallest key that starts with it.
      var index = keys.partitioningIndex { key in
        if let prefix, key < prefix { return false }
        if let after { return key > after }
        return true
      }
      var page: [R] = []
      while index < keys.count, page.count < limit, prefix.map(keys[index].hasPrefix) ?? true {
        if let item = item(content, keys[index]) { page.append(item) }
        index += 1
      }
      return page
    }
  }
}

extension StorageError {
  /// Returns the error for a precondition that did not hold.
  package static func preconditionFailed(_ key: KeyName, location: String) -> StorageError {
    StorageError(
      .preconditionFailed, "Another writer changed the value after it was read.",
      advice: "Nothing was written. Read it again and repeat the change.", location: location, key: key)
  }

  /// Returns the error for a snapshot that was used after its closure had returned.
  package static func snapshotEnded(_ location: String) -> StorageError {
    StorageError(
      .closed, "The snapshot was used after its withSnapshot call had returned.",
      advice: "Read everything you need inside withSnapshot.", location: location)
  }
}

extension Array {
  /// Returns the first index whose element satisfies `predicate`, in an array where all such elements come last.
  fileprivate func partitioningIndex(_ predicate: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if predicate(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
