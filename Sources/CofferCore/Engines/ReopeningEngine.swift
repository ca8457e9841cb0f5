import CofferLocks

/// Stands for a store that could not be opened, and becomes that store as soon as it can be: when the directory is
/// mounted, the keyring unlocked, the permission given.
///
/// ```swift
/// let engine = ReopeningEngine(error, description: "file:/mnt/archive", capabilities: promised) {
///   try await SlotEngine.files(in: directory)
/// }
/// ```
///
/// Every use tries to open it and throws why it cannot be: reads never say that there is nothing. While somebody
/// follows ``changes(since:)`` or ``availability()``, it tries once per second by itself.
public final class ReopeningEngine: StorageEngine {
  private typealias Opening = Task<any StorageEngine, any Error>

  private struct State {
    var opened: (any StorageEngine)?
    var opening: Opening?
    var isClosed = false
    var isWaiting = false
  }

  public let description: String
  public let capabilities: Capabilities
  private let state = Locked(State())
  private let feed: AvailabilityFeed
  private let interval: Duration
  private let clock: any Clock<Duration>
  private let open: @Sendable () async throws -> any StorageEngine

  /// - Parameters:
  ///   - error: why the store could not be opened.
  ///   - description: how messages call it.
  ///   - capabilities: what it promises once it is open.
  ///   - interval: how long to wait between two attempts of its own.
  ///   - clock: what measures that.
  ///   - open: opens it.
  public init(
    _ error: any Error, description: String, capabilities: Capabilities, interval: Duration = .seconds(1),
    clock: any Clock<Duration> = ContinuousClock(), open: @escaping @Sendable () async throws -> any StorageEngine
  ) {
    self.description = description
    self.capabilities = capabilities
    self.interval = interval
    self.clock = clock
    self.open = open
    feed = AvailabilityFeed(.unavailable(reason: StorageError.cause(error, description).message))
  }

  deinit { feed.finish() }

  public var latestRevision: Revision { opened?.latestRevision ?? .zero }
  public var latestPosition: JournalPosition { opened?.latestPosition ?? JournalPosition(epoch: 0, revision: .zero) }

  private var opened: (any StorageEngine)? { state.withLock { $0.opened } }

  // MARK: Opening

  fileprivate func present() async throws -> any StorageEngine {
    if let opened { return opened }
    let task: Opening = try state.withLock { state throws -> Opening in
      guard !state.isClosed else { throw StorageError.closed(description) }
      if let engine = state.opened { return Task { engine } }  // A moment ago.
      let task = state.opening ?? begin()
      state.opening = task
      return task
    }
    do {
      let engine = try await task.value
      return try take(engine, from: task)
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

  private func take(_ engine: any StorageEngine, from task: Opening) throws -> any StorageEngine {
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
      let states = engine.availability()
      Task { [feed] in
        for await availability in states { feed.set(availability) }
      }
    }
    return engine
  }

  /// The store, once it is open; `nil` when this handle is closed first.
  private func whenOpened() async -> (any StorageEngine)? {
    while !Task.isCancelled {
      do { return try await present() } catch let error as StorageError where error.code == .closed {
        return nil
      } catch {}
      try? await clock.sleep(for: interval)
    }
    return nil
  }

  /// Goes on trying as long as somebody follows.
  private func wait() {
    let mustStart = state.withLock { state in
      defer { state.isWaiting = true }
      return !state.isWaiting && state.opened == nil && !state.isClosed
    }
    guard mustStart else { return }
    Task { [weak self, clock, interval] in
      while let engine = self, engine.opened == nil, engine.feed.hasSubscribers {
        do { _ = try await engine.present() } catch let error as StorageError where error.code == .closed {
          return
        } catch {}
        try? await clock.sleep(for: interval)
      }
      self?.state.withLock { $0.isWaiting = false }
      if self?.feed.hasSubscribers == true { self?.wait() }  // One came while we were leaving.
    }
  }

  // MARK: Use

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: Origin) async throws -> Commit {
    try await present().commit(batch, from: origin)
  }

  public func entry(_ key: Key) async throws -> Entry? { try await present().entry(key) }

  public func entries(_ keys: [Key]) async throws -> [Entry?] { try await present().entries(keys) }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await present().withSnapshot(body)
  }

  public func recentCommits(after revision: Revision) -> [Commit]? { opened?.recentCommits(after: revision) }

  /// The commits, from when the store is open; who followed before that is told to reload first.
  public func changes(since position: JournalPosition?) -> AsyncStream<Change> {
    if let opened { return opened.changes(since: position) }
    let changes = Locked<AsyncStream<Change>?>(nil)
    return AsyncStream { [self] in
      if let stream = changes.withLock({ $0 }) { return await stream.first { _ in true } }
      guard let engine = await whenOpened() else { return nil }
      let stream = engine.changes(since: position)
      changes.withLock { $0 = stream }
      return position == nil ? .reload(upTo: engine.latestRevision) : await stream.first { _ in true }
    }
  }

  public func availability() -> AsyncStream<Availability> {
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

extension StorageEngine {
  /// The engine of a kind that this is or, once it can be opened, stands for.
  /// - Throws: Why it cannot be opened; `unsupported` where it is of another kind.
  package func opened<E: StorageEngine>(as type: E.Type) async throws -> E {
    let engine: any StorageEngine = try await (self as? ReopeningEngine)?.present() ?? self
    guard let engine = engine as? E else {
      throw StorageError.unsupported("what only \(type) can do", advice: "Use another store.", backend: description)
    }
    return engine
  }
}

extension StorageError {
  /// Any error as why a store cannot be used.
  fileprivate static func cause(_ error: any Error, _ description: String) -> StorageError {
    (error as? StorageError)?.locating(backend: description)
      ?? StorageError(
        .unavailable, "The store could not be opened.", backend: description,
        underlying: .init(domain: String(reflecting: type(of: error)), code: 0, text: String(describing: error)))
  }
}
