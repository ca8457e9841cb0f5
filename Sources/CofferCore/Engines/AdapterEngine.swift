import Foundation

/// An engine over a third-party ``StorageAdapter``. It declares no capabilities.
///
/// Single puts and deletes are forwarded to the adapter and delivered to subscribers in this process. Batches of more
/// than one operation, preconditions, listing, clearing and snapshots are refused. ``entries(_:)`` reads key by key, so
/// other writers may commit in between. Entries have the revision ``StoreRevision/zero``.
public final class AdapterEngine: StorageEngine {
  private struct State {
    var revision = StoreRevision.zero
    var isClosed = false
  }

  private let adapter: any StorageAdapter
  private let state = Locked(State())
  private let feed = ChangeFeed(latest: .zero)
  private let epoch = UInt64.random(in: 1 ... .max)
  private let availabilityFeed = AvailabilityFeed()

  public let description: String
  public let capabilities = StoreCapabilities([], maximumValueSize: .max)

  /// Creates an engine over `adapter`, which is called only through its four methods.
  /// - Parameters:
  ///   - adapter: the adapter that holds the values.
  ///   - name: the name of the store in messages; the type of the adapter by default.
  public init(_ adapter: any StorageAdapter, name: String? = nil) {
    self.adapter = adapter
    description = "adapter:\(name ?? String(describing: type(of: adapter)))"
  }

  public var latestRevision: StoreRevision { state.withLock { $0.revision } }
  public var latestPosition: JournalPosition { JournalPosition(epoch: epoch, revision: latestRevision) }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try checkOpen()
    try Task.checkCancellation()
    try batch.check(capabilities, location: description)
    let now = Date().inMilliseconds
    if batch.operations.isEmpty {
      return StoreCommit(
        revision: latestRevision, transaction: batch.transaction, origin: origin, changed: .none, date: now)
    }
    guard batch.operations.count == 1, let operation = batch.operations.first else {
      throw refuse("batches of more than one operation", "Write the values one by one, without atomicity.")
    }
    switch operation {
    case .put(let key, let data, _):
      try await locating(key) { try await adapter.write(key: key.string, data: data) }
    case .delete(let key):
      try await locating(key) { try await adapter.delete(key: key.string) }
    case .clear: throw refuse("clearing", "Delete the keys one by one.")
    case .require, .requireRecord, .putRecord, .deleteRecord:
      throw refuse("preconditions", "Use one of the built-in engines for atomic updates.")
    }
    return state.withLock { state in
      state.revision = state.revision.next
      let commit = StoreCommit(
        revision: state.revision, transaction: batch.transaction ?? .next(), origin: origin,
        changed: batch.selection, date: now)
      feed.publish([commit])
      return commit
    }
  }

  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try checkOpen()
    var entries: [StoreEntry?] = []
    for key in keys {
      let data = try await locating(key) { try await adapter.read(key: key.string) }
      entries.append(data.map { StoreEntry(key: key, value: $0, revision: .zero) })
    }
    return entries
  }

  /// Asks the adapter whether there is a value, without reading it. Size and date are `nil`, since they are unknown. An
  /// adapter's `exists` cannot throw: a summary is also returned when the adapter cannot tell.
  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try checkOpen()
    guard await adapter.exists(key: key.string) else { return nil }
    return StoreEntry.Summary(key: key, size: nil, revision: .zero, date: nil)
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try checkOpen()
    throw refuse("snapshots", "Read with entries(_:); other writers may commit between two reads.")
  }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { feed.recentCommits(after: revision) }

  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    feed.subscribe(since: position?.revision, isForeign: position.map { $0.epoch != epoch } ?? false)
  }

  public func availability() -> AsyncStream<StoreAvailability> { availabilityFeed.subscribe() }

  public func flush() async throws { try checkOpen() }

  public func close() async throws {
    state.withLock { $0.isClosed = true }
    feed.finish()
    availabilityFeed.finish()
  }

  private func checkOpen() throws {
    guard !state.withLock({ $0.isClosed }) else { throw StorageError.closed(description) }
  }

  private func refuse(_ what: String, _ advice: String) -> StorageError {
    StorageError.unsupported(what, advice: advice, location: description)
  }

  /// Runs a call to the adapter and wraps its errors with a code, the location of the store and the key.
  private func locating<R>(_ key: KeyName, _ body: () async throws -> R) async throws -> R {
    do {
      return try await body()
    } catch let error as StorageError {
      throw error.locating(at: description, key: key)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw StorageError(
        .inputOutput, "The storage adapter failed.", location: description, key: key,
        underlying: .init(domain: String(reflecting: type(of: error)), code: 0, text: String(describing: error)))
    }
  }
}
