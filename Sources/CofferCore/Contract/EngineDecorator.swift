/// An engine in front of another one, which does everything that the decorator does not do itself.
///
/// ```swift
/// final class CountingEngine: EngineDecorator {
///   let base: any StorageEngine
///   let commits = Atomic(0)
///   init(_ base: any StorageEngine) { self.base = base }
///
///   func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
///     commits.add(1, ordering: .relaxed)
///     return try await base.commit(batch, from: origin)
///   }
/// }
/// ```
///
/// A decorator that changes values changes them in ``StorageEngine/entries(_:)``, ``StorageEngine/entry(_:)`` and in a
/// ``StorageSnapshot`` of its own, and their sizes in ``StorageEngine/summary(of:)``. What it cannot pass on it takes
/// out of its ``StorageEngine/capabilities`` and refuses: `StorageConformance` tests both.
public protocol EngineDecorator: StorageEngine {
  /// The engine behind this one.
  var base: any StorageEngine { get }

  /// The same once it can be used: a store that could not be opened is opened first.
  /// - Throws: Why it cannot be opened.
  func openBase() async throws -> any StorageEngine
}

extension EngineDecorator {
  public func openBase() async throws -> any StorageEngine { base }

  public var capabilities: StoreCapabilities { base.capabilities }
  public var description: String { base.description }
  public var latestRevision: StoreRevision { base.latestRevision }
  public var latestPosition: JournalPosition { base.latestPosition }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await base.commit(batch, from: origin)
  }

  public func entry(_ key: StoreKey) async throws -> StoreEntry? { try await base.entry(key) }
  public func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] { try await base.entries(keys) }
  public func record(_ name: SystemRecordName) async throws -> SystemRecord? { try await base.record(name) }
  public func summary(of key: StoreKey) async throws -> StoreEntrySummary? { try await base.summary(of: key) }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await base.withSnapshot(body)
  }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { base.recentCommits(after: revision) }
  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { base.changes(since: position) }
  public func availability() -> AsyncStream<StoreAvailability> { base.availability() }
  public func flush() async throws { try await base.flush() }
  public func close() async throws { try await base.close() }
}

extension StorageEngine {
  /// This engine, or the first one behind it, that is of a kind; `nil` when none is, or when it is not open yet.
  ///
  /// Use it for what only that kind can do, such as a backup. Values that are read and written past a decorator are not
  /// what the decorator would have made of them.
  public func `as`<E: StorageEngine>(_ type: E.Type) -> E? {
    var engine: any StorageEngine = self
    while true {
      if let found = engine as? E { return found }
      guard let decorator = engine as? any EngineDecorator else { return nil }
      engine = decorator.base
    }
  }

  /// The same once it is open.
  /// - Throws: Why it cannot be opened; ``StorageError/Code-swift.struct/unsupported`` when no engine is of the kind.
  public func opened<E: StorageEngine>(as type: E.Type) async throws -> E {
    var engine: any StorageEngine = self
    while true {
      if let found = engine as? E { return found }
      guard let decorator = engine as? any EngineDecorator else {
        throw StorageError.unsupported("what only \(type) can do", advice: "Use another store.", backend: description)
      }
      engine = try await decorator.openBase()
    }
  }
}
