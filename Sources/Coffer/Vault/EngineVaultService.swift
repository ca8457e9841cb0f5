import CofferLocks
public import Foundation

/// A vault over an engine: what every function of ``SwiftVault`` makes.
///
/// ```swift
/// let engine = MemoryEngine()
/// let app = EngineVaultService(engine: engine)
/// let widget = EngineVaultService(engine: engine)   // hears what `app` writes, and the other way round
/// ```
public final class EngineVaultService: SwiftVaultService {
  /// The engine that keeps the bytes.
  public let engine: any StorageEngine
  /// Says which commits are this service's own.
  public let origin: StoreOrigin
  /// What the names of this service's keys begin with in the engine.
  private let scope: KeyScope

  /// - Parameters:
  ///   - engine: where the bytes are kept.
  ///   - keyPrefix: what the engine puts before each key, so that several services share it: none of them sees
  ///     another's keys, unless its prefix is the beginning of the other's.
  ///   - origin: the handle that the service writes as; a fresh one unless given.
  public init(engine: any StorageEngine, keyPrefix: String = "", origin: StoreOrigin = StoreOrigin()) {
    self.engine = engine
    self.origin = origin
    scope = KeyScope(prefix: keyPrefix)
  }

  /// Stores bytes in one commit that survives power loss, where the engine can promise that.
  /// - Throws: ``SwiftVaultError/writeFailed(key:underlyingError:)`` and others; nothing was written then, except
  ///   when the underlying error has the code `outcomeUnknown` or `unfinished`.
  public func saveData(_ data: Data, forKey key: String, transactionID: UUID) async throws {
    try await VaultOperation.save(key).run {
      try await engine.commit(WriteBatch([.put(scope.key(key), data)], transaction: transactionID), from: origin)
    }
  }

  /// Stores several values in one commit: all of them or none.
  ///
  /// ```swift
  /// try await service.saveBatch([("item1", data1), ("item2", data2)], transactionID: UUID())
  /// ```
  ///
  /// - Throws: ``SwiftVaultError/unsupportedOperation(description:)`` where the engine cannot do that.
  public func saveBatch(_ items: [(key: String, data: Data)], transactionID: UUID) async throws {
    guard let first = items.first else { return }
    try await VaultOperation.save(first.key).run {
      let operations = try items.map { WriteBatch.Operation.put(try scope.key($0.key), $0.data) }
      try await engine.commit(WriteBatch(operations, transaction: transactionID), from: origin)
    }
  }

  /// - Throws: ``SwiftVaultError/readFailed(key:underlyingError:)`` and others when the store cannot tell.
  public func loadData(forKey key: String) async throws -> Data? {
    try await VaultOperation.load(key).run { try await engine.entry(scope.key(key))?.value }
  }

  /// - Throws: ``SwiftVaultError/deleteFailed(key:underlyingError:)`` and others.
  public func remove(forKey key: String) async throws {
    try await VaultOperation.remove(key).run {
      try await engine.commit(WriteBatch([.delete(scope.key(key))]), from: origin)
    }
  }

  public func exists(forKey key: String) async -> Bool {
    guard let key = try? scope.key(key) else { return false }  // No store can hold such a key.
    do { return try await engine.contains(key) } catch { return true }
  }

  /// Removes every key of this service.
  /// - Throws: ``SwiftVaultError/clearAllFailed(underlyingError:)`` and others;
  ///   ``SwiftVaultError/unsupportedOperation(description:)`` where the engine cannot list its keys.
  public func clearAll() async throws {
    try await VaultOperation.clear.run {
      try await engine.commit(WriteBatch([.clear(prefix: scope.whole)]), from: origin)
    }
  }

  /// What others write from now on, own writes excluded.
  ///
  /// One element per changed key, with its transaction. `(nil, id)` when everything or a range of keys was cleared,
  /// `(nil, nil)` when changes can no longer be told one by one: then read again what you hold. The stream ends when
  /// the engine is closed.
  public var externalChanges: AsyncStream<(key: String?, transactionID: UUID?)> {
    let changes = engine.changes(since: nil)
    let (origin, scope) = (origin, scope)
    let pending = Locked<ArraySlice<ExternalChange>>([])
    return AsyncStream {
      if let change = pending.withLock({ $0.popFirst() }) { return change.element }
      // All iterators of an `AsyncStream` share its position, so a fresh one per call loses nothing.
      for await change in changes {
        var external = ExternalChange.all(in: change, except: origin, scope)[...]
        guard let first = external.popFirst() else { continue }
        pending.withLock { [external] in $0 = external }
        return first.element
      }
      return nil
    }
  }
}

/// One element of `externalChanges`.
private struct ExternalChange: Sendable {
  let key: String?
  let transaction: TransactionID?

  var element: (key: String?, transactionID: UUID?) { (key, transaction) }

  static func all(in change: StoreChange, except origin: StoreOrigin, _ scope: KeyScope) -> [ExternalChange] {
    switch change {
    case .reload: return [ExternalChange(key: nil, transaction: nil)]
    case .commit(let commit) where commit.origin == origin: return []
    case .commit(let commit):
      var seen: Set<StoreKey> = []
      var external = commit.changed.keys.filter { seen.insert($0).inserted }
        .compactMap { scope.name(of: $0).map { ExternalChange(key: $0, transaction: commit.transaction) } }
      if commit.changed.isEverything || commit.changed.prefixes.contains(where: scope.overlaps) {
        external.append(ExternalChange(key: nil, transaction: commit.transaction))
      }
      return external
    }
  }
}
