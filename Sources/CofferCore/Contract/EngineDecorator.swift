/// An engine that wraps another one and forwards every call that it does not implement itself.
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
/// A decorator that transforms values must do so in ``StorageEngine/entries(_:)``, in ``StorageEngine/entry(_:)`` and
/// in its own ``StorageSnapshot``, and must adjust their sizes in ``StorageEngine/summary(of:)``. It removes what it
/// cannot forward from its ``StorageEngine/capabilities`` and refuses it; `StorageConformance` tests both.
public protocol EngineDecorator: StorageEngine {
  /// The wrapped engine.
  var base: any StorageEngine { get }

  /// Returns the wrapped engine, opening its store first if it is not open yet.
  /// - Throws: The reason why the store cannot be opened.
  func openBase() async throws -> any StorageEngine
}

extension EngineDecorator {
  public func openBase() async throws -> any StorageEngine { base }

  public var capabilities: StoreCapabilities { base.capabilities }
  public var isReadOnly: Bool { base.isReadOnly }
  public var description: String { base.description }
  public var clock: StoreClock { base.clock }
  public var events: CofferEvents? { base.events }
  public var latestRevision: StoreRevision { base.latestRevision }
  public var latestPosition: JournalPosition { base.latestPosition }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await base.commit(batch, from: origin)
  }

  public func entry(_ key: KeyName) async throws -> StoreEntry? { try await base.entry(key) }
  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { try await base.entries(keys) }
  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? { try await base.record(name) }
  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await base.summary(of: key) }

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
  /// Returns this engine or the first engine behind it that has the given type; `nil` if there is none or if it is not
  /// open yet.
  ///
  /// Use it for operations that only that type has, such as a backup. Reads and writes through the result bypass the
  /// decorators in front of it and any transformation that they apply.
  public func `as`<E: StorageEngine>(_ type: E.Type) -> E? {
    var engine: any StorageEngine = self
    while true {
      if let found = engine as? E { return found }
      guard let decorator = engine as? any EngineDecorator else { return nil }
      engine = decorator.base
    }
  }

  /// Returns this engine or the first engine behind it that has the given type, opening the store first if necessary.
  /// - Throws: The reason why the store cannot be opened; ``StorageError/Code-swift.struct/unsupported`` if no engine
  ///   has the type.
  public func opened<E: StorageEngine>(as type: E.Type) async throws -> E {
    var engine: any StorageEngine = self
    while true {
      if let found = engine as? E { return found }
      guard let decorator = engine as? any EngineDecorator else {
        throw StorageError.unsupported("the operations of \(type)", advice: "Use another store.", location: description)
      }
      engine = try await decorator.openBase()
    }
  }
}
