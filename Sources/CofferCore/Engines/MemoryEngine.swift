import CofferLocks
import Foundation

/// Keeps everything in memory: for tests, previews and caches. What it held is gone when it is released.
///
/// ```swift
/// let engine = MemoryEngine()
/// let store = TypedStore(engine: engine)
/// ```
public final class MemoryEngine: StorageEngine {
  private struct State {
    var content = MemoryContent()
    var isClosed = false
  }

  private let state = Locked(State())
  private let feed: ChangeFeed
  private let epoch = UInt64.random(in: 1 ... .max)
  private let availabilityFeed = AvailabilityFeed()

  private let clock: StoreClock

  public let description: String
  public let capabilities: StoreCapabilities

  /// An empty store.
  /// - Parameters:
  ///   - name: what messages call this store.
  ///   - clock: where the dates of commits come from.
  ///   - maximumValueSize: the largest value in bytes.
  ///   - journalCapacity: how many changed keys are remembered for subscribers that start at an earlier revision.
  public init(
    name: String = "memory", clock: StoreClock = .system, maximumValueSize: Int = 1 << 30, journalCapacity: Int = 4_096
  ) {
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
    try batch.check(capabilities, backend: description)
    try Task.checkCancellation()
    let now = clock.now().inMilliseconds
    return try state.withLock { state in
      guard !state.isClosed else { throw StorageError.closed(description) }
      let selection = batch.selection
      try state.content.check(batch, backend: description)
      guard !selection.isEmpty else {
        return StoreCommit(
          revision: state.content.revision, transaction: batch.transaction, origin: origin, changed: .none, date: now)
      }
      state.content.apply(batch, at: now)
      let commit = StoreCommit(
        revision: state.content.revision, transaction: batch.transaction ?? .next(), origin: origin,
        changed: selection, date: now)
      feed.publish([commit])  // under the lock, so that commits are announced in their order
      return commit
    }
  }

  public func entry(_ key: StoreKey) async throws -> StoreEntry? {
    try content().entry(key)
  }

  public func record(_ name: SystemRecordName) async throws -> SystemRecord? { try content().records[name] }

  public func summary(of key: StoreKey) async throws -> StoreEntrySummary? { try content().summary(key) }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    let snapshot = MemorySnapshot(try content(), backend: description)
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

  private func content() throws -> MemoryContent {
    try state.withLock { state in
      guard !state.isClosed else { throw StorageError.closed(description) }
      return state.content
    }
  }
}

/// What a memory store holds. Copying it is a snapshot: the dictionary is copied when the next write comes.
struct MemoryContent: Sendable {
  private struct Value {
    let data: Data
    let attributes: ValueAttributes
    let revision: StoreRevision
    let date: Date
  }

  private var values: [StoreKey: Value] = [:]
  private(set) var records: [SystemRecordName: SystemRecord] = [:]
  private(set) var revision = StoreRevision.zero

  var sortedKeys: [StoreKey] { values.keys.sorted() }

  func entry(_ key: StoreKey) -> StoreEntry? {
    values[key].map { StoreEntry(key: key, value: $0.data, revision: $0.revision, attributes: $0.attributes) }
  }

  func summary(_ key: StoreKey) -> StoreEntrySummary? {
    values[key].map {
      StoreEntrySummary(
        key: key, size: $0.data.count, revision: $0.revision, date: $0.date, attributes: $0.attributes)
    }
  }

  func check(_ batch: WriteBatch, backend: String) throws {
    for case .require(let key, let expected) in batch.operations where values[key]?.revision != expected {
      throw StorageError.preconditionFailed(key, backend: backend)
    }
    for case .requireRecord(let name, let expected) in batch.operations where records[name]?.revision != expected {
      throw StorageError.preconditionFailed(name.key, backend: backend)
    }
  }

  mutating func apply(_ batch: WriteBatch, at date: Date) {
    revision = revision.next
    for operation in batch.operations {
      switch operation {
      case .put(let key, let data, let attributes):
        values[key] = Value(data: data, attributes: attributes, revision: revision, date: date)
      case .delete(let key): values[key] = nil
      case .clear(let prefix?): values = values.filter { !$0.key.hasPrefix(prefix) }
      case .clear(nil): values.removeAll()
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
    var sortedKeys: [StoreKey]?
  }

  let revision: StoreRevision
  private let backend: String
  private let state: Locked<State>

  init(_ content: MemoryContent, backend: String) {
    revision = content.revision
    self.backend = backend
    state = Locked(State(content: content))
  }

  func end() { state.withLock { $0.content = nil } }

  func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    let content = try state.withLock { $0.content } ?? { throw StorageError.snapshotEnded(backend) }()
    return keys.map(content.entry)
  }

  func page(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntry] {
    try list(prefix: prefix, after: after, limit: limit) { $0.entry($1) }
  }

  func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary] {
    try list(prefix: prefix, after: after, limit: limit) { $0.summary($1) }
  }

  private func list<R: Sendable>(
    prefix: StoreKey?, after: StoreKey?, limit: Int, _ item: (MemoryContent, StoreKey) -> R?
  ) throws -> [R] {
    try state.withLock { state in
      guard let content = state.content else { throw StorageError.snapshotEnded(backend) }
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
  /// What a writer hears who was not the first.
  package static func preconditionFailed(_ key: StoreKey, backend: String) -> StorageError {
    StorageError(
      .preconditionFailed, "The value was changed by somebody else since it was read.",
      advice: "Nothing was written. Read it again and repeat the change.", backend: backend, key: key)
  }

  /// What somebody hears who keeps a snapshot for longer than it lives.
  package static func snapshotEnded(_ backend: String) -> StorageError {
    StorageError(
      .closed, "The snapshot was used after the call that gave it had ended.",
      advice: "Read everything you need inside withSnapshot.", backend: backend)
  }
}

extension Array {
  /// The first index whose element satisfies `predicate`, in an array where all that do come after all that do not.
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
