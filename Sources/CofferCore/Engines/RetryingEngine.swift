/// An engine for a store that could not be opened. It opens the store once that is possible: when the directory is
/// mounted, the keyring unlocked, or the permission granted.
///
/// ```swift
/// let engine = RetryingEngine(error, description: "file:/mnt/archive", capabilities: expected) {
///   try await SlotEngine.files(in: directory)
/// }
/// ```
///
/// Every call that can throw tries to open the store, and throws the reason if that fails; a read never returns `nil`
/// for a store that is not open. While ``changes(since:)`` or ``availability()`` has a subscriber, it also retries at a
/// fixed interval, once per second by default.
public final class RetryingEngine: EngineDecorator {
  private typealias Opening = Task<any StorageEngine, any Error>

  private struct State {
    var opened: (any StorageEngine)?
    var opening: Opening?
    var isClosed = false
    var isWaiting = false
  }

  public let description: String
  /// The capabilities of the store; until it is open, those that were passed to the initializer.
  public var capabilities: StoreCapabilities { opened?.capabilities ?? promised }
  private let promised: StoreCapabilities
  private let state = Locked(State())
  private let feed: AvailabilityFeed
  private let interval: Duration
  private let retryClock: any Clock<Duration>
  private let open: @Sendable () async throws -> any StorageEngine

  /// Creates an engine for a store whose first opening has failed.
  /// - Parameters:
  ///   - error: the error of the first attempt to open the store.
  ///   - description: the location of the store, for messages.
  ///   - capabilities: the capabilities to report until the store is open.
  ///   - interval: the time between two automatic attempts; one second by default.
  ///   - clock: the clock that measures the interval.
  ///   - open: opens the store.
  public init(
    _ error: any Error, description: String, capabilities: StoreCapabilities, interval: Duration = .seconds(1),
    clock: any Clock<Duration> = ContinuousClock(), open: @escaping @Sendable () async throws -> any StorageEngine
  ) {
    self.description = description
    promised = capabilities
    self.interval = interval
    retryClock = clock
    self.open = open
    feed = AvailabilityFeed(.unavailable(reason: StorageError.cause(error, description).message))
  }

  deinit { feed.finish() }

  /// The engine of the store once it is open; until then an engine whose reads and commits throw `unavailable`.
  public var base: any StorageEngine { opened ?? UnopenedEngine(description: description, capabilities: capabilities) }

  public func openBase() async throws -> any StorageEngine { try await present() }

  private var opened: (any StorageEngine)? { state.withLock { $0.opened } }

  // MARK: Opening

  fileprivate func present() async throws -> any StorageEngine {
    if let opened { return opened }
    let task: Opening = try state.withLock { state throws -> Opening in
      guard !state.isClosed else { throw StorageError.closed(description) }
      if let engine = state.opened { return Task { engine } }  // Opened since the check above.
      let task = state.opening ?? begin()
      state.opening = task
      return task
    }
    do {
      let engine = try await task.value
      let states = engine.availability()
      // Publish the state of the open store before returning it, so that no caller reads an outdated one.
      for await present in states {
        feed.set(present)
        break
      }
      return try take(engine, states, from: task)
    } catch {
      let cause = StorageError.cause(error, description)
      state.withLock { state in
        if state.opening == task { state.opening = nil }
      }
      if opened == nil { feed.set(.unavailable(reason: cause.message)) }
      throw cause
    }
  }

  private func begin() -> Opening {
    let open = open
    return Task { try await open() }
  }

  private func take(
    _ engine: any StorageEngine, _ states: AsyncStream<StoreAvailability>, from task: Opening
  ) throws -> any StorageEngine {
    let isFirst = try state.withLock { state in
      guard !state.isClosed else {
        Task { try? await engine.close() }
        throw StorageError.closed(description)
      }
      guard state.opening == task else { return false }
      state.opened = engine
      state.opening = nil
      return true
    }
    if isFirst {
      Task { [feed] in
        for await availability in states { feed.set(availability) }
      }
    }
    return engine
  }

  /// Waits until the store is open and returns its engine, or `nil` if this handle is closed first.
  private func whenOpened() async -> (any StorageEngine)? {
    while !Task.isCancelled {
      do { return try await present() } catch let error as StorageError where error.code == .closed {
        return nil
      } catch {}
      try? await retryClock.sleep(for: interval)
    }
    return nil
  }

  /// Retries to open the store for as long as the availability feed has subscribers.
  private func wait() {
    let mustStart = state.withLock { state in
      defer { state.isWaiting = true }
      return !state.isWaiting && state.opened == nil && !state.isClosed
    }
    guard mustStart else { return }
    Task { [weak self, retryClock, interval] in
      while let engine = self, engine.opened == nil, engine.feed.hasSubscribers {
        do { _ = try await engine.present() } catch let error as StorageError where error.code == .closed {
          return
        } catch {}
        try? await retryClock.sleep(for: interval)
      }
      self?.state.withLock { $0.isWaiting = false }
      if self?.feed.hasSubscribers == true { self?.wait() }  // A subscriber arrived after the loop had ended.
    }
  }

  // MARK: Use

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await present().commit(batch, from: origin)
  }

  public func entry(_ key: KeyName) async throws -> StoreEntry? { try await present().entry(key) }

  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { try await present().entries(keys) }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    try await present().record(name)
  }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await present().summary(of: key) }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await present().withSnapshot(body)
  }

  /// Returns a stream of commits that begins once the store is open. Without a position, a subscriber that was waiting
  /// before that receives a reload first.
  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    if let opened { return opened.changes(since: position) }
    let changes = Locked<AsyncStream<StoreChange>?>(nil)
    return AsyncStream { [self] in
      if let stream = changes.withLock({ $0 }) { return await stream.first { _ in true } }
      guard let engine = await whenOpened() else { return nil }
      let stream = engine.changes(since: position)
      changes.withLock { $0 = stream }
      return position == nil ? .reload(upTo: engine.latestRevision) : await stream.first { _ in true }
    }
  }

  public func availability() -> AsyncStream<StoreAvailability> {
    let stream = feed.subscribe()
    wait()
    return stream
  }

  public func flush() async throws { try await present().flush() }

  public func close() async throws {
    let engine = state.withLock { state in
      state.isClosed = true
      return state.opened
    }
    feed.finish()
    try await engine?.close()
  }
}

/// The engine behind a handle whose store is not open yet.
private struct UnopenedEngine: StorageEngine {
  let description: String
  let capabilities: StoreCapabilities
  let latestRevision = StoreRevision.zero
  let latestPosition = JournalPosition(epoch: 0, revision: .zero)

  private var error: StorageError {
    StorageError(
      .unavailable, "The store is not open yet.", advice: "Call openBase() on the engine first.",
      location: description)
  }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit { throw error }

  func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    throw error
  }

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { nil }
  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { AsyncStream { nil } }
  func availability() -> AsyncStream<StoreAvailability> { AsyncStream { nil } }
  func close() async throws {}
}

extension StorageError {
  /// Returns `error` as a `StorageError` that names the store, wrapping any other type of error as `unavailable`.
  fileprivate static func cause(_ error: any Error, _ description: String) -> StorageError {
    (error as? StorageError)?.locating(at: description)
      ?? StorageError(
        .unavailable, "The store could not be opened.", location: description,
        underlying: .init(domain: String(reflecting: type(of: error)), code: 0, text: String(describing: error)))
  }
}
