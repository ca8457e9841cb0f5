import CofferCore
public import Foundation

/// A vault over an engine, as returned by the functions of ``SwiftVault``.
///
/// ```swift
/// let engine = MemoryEngine()
/// let app = EngineVaultService(engine: engine)
/// let widget = EngineVaultService(engine: engine)   // receives what `app` writes, and the other way round
/// ```
public final class EngineVaultService: SwiftVaultService {
  /// The engine that stores the bytes.
  public let engine: any StorageEngine
  /// The origin that marks this service's own commits.
  public let origin: StoreOrigin
  /// The prefix of this service's keys in the engine.
  let scope: KeyScope

  /// Creates a vault service over an engine.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - keyPrefix: a prefix for each key in the engine, so that several services can share it. No service can access
  ///     the keys of another one, unless its prefix is a prefix of the other's.
  ///   - origin: the origin of the service's commits; a new one by default.
  public init(engine: any StorageEngine, keyPrefix: String = "", origin: StoreOrigin = StoreOrigin()) {
    self.engine = engine
    self.origin = origin
    scope = KeyScope(prefix: keyPrefix)
  }

  /// Stores bytes in one commit that survives power loss, where the engine can promise that.
  /// - Throws: ``SwiftVaultError/writeFailed(key:underlyingError:)`` and others; nothing was written, unless the
  ///   underlying error has the code `outcomeUnknown` or `unfinished`.
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
  /// - Throws: ``SwiftVaultError/writeFailed(key:underlyingError:)`` and others;
  ///   ``SwiftVaultError/unsupportedOperation(description:)`` where the engine has no atomic batches. Nothing was
  ///   written, unless the underlying error has the code `outcomeUnknown` or `unfinished`.
  public func saveBatch(_ items: [(key: String, data: Data)], transactionID: UUID) async throws {
    guard let first = items.first else { return }
    try await VaultOperation.saveBatch(first.key, scope).run {
      let operations = try items.map { WriteBatch.Operation.put(try scope.key($0.key), $0.data) }
      try await engine.commit(WriteBatch(operations, transaction: transactionID), from: origin)
    }
  }

  /// Returns the bytes of a key, or `nil` when they are proven absent.
  /// - Throws: ``SwiftVaultError/readFailed(key:underlyingError:)`` and others when the store cannot be read.
  public func loadData(forKey key: String) async throws -> Data? {
    try await VaultOperation.load(key).run {
      guard let entry = try await engine.entry(scope.key(key)) else { return nil }
      if let error = StorageError.otherForm(entry.attributes, at: engine.description, key: entry.key) { throw error }
      return entry.value
    }
  }

  /// Removes the bytes of a key. Removing a missing key is not an error.
  /// - Throws: ``SwiftVaultError/deleteFailed(key:underlyingError:)`` and others.
  public func remove(forKey key: String) async throws {
    try await VaultOperation.remove(key).run {
      try await engine.commit(WriteBatch([.delete(scope.key(key))]), from: origin)
    }
  }

  public func exists(forKey key: String) async -> Bool {
    guard let key = try? scope.key(key) else { return false }  // An invalid key cannot be stored.
    do { return try await engine.contains(key) } catch { return true }
  }

  /// Removes every key of this service in one commit.
  /// - Throws: ``SwiftVaultError/clearAllFailed(underlyingError:)`` and others;
  ///   ``SwiftVaultError/unsupportedOperation(description:)`` where the engine cannot list its keys.
  public func clearAll() async throws {
    try await VaultOperation.clear.run {
      try await engine.commit(WriteBatch([.clear(prefix: scope.whole)]), from: origin)
    }
  }

  /// The changes made by other writers from now on.
  ///
  /// The stream has one element per changed key, with its transaction. `(nil, id)` means that everything or a range of
  /// keys was cleared; `(nil, nil)` means that individual changes are no longer available, so read all values again.
  /// The stream ends when the engine is closed.
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

/// An element of ``EngineVaultService/externalChanges``.
private struct ExternalChange: Sendable {
  let key: String?
  let transaction: TransactionID?

  var element: (key: String?, transactionID: UUID?) { (key, transaction) }

  static func all(in change: StoreChange, except origin: StoreOrigin, _ scope: KeyScope) -> [ExternalChange] {
    switch change {
    case .reload: return [ExternalChange(key: nil, transaction: nil)]
    case .commit(let commit) where commit.origin == origin: return []
    case .commit(let commit):
      var seen: Set<KeyName> = []
      var external = commit.changed.keys.filter { seen.insert($0).inserted }
        .compactMap { scope.name(of: $0).map { ExternalChange(key: $0, transaction: commit.transaction) } }
      if commit.changed.isEverything || commit.changed.prefixes.contains(where: scope.overlaps) {
        external.append(ExternalChange(key: nil, transaction: commit.transaction))
      }
      return external
    }
  }
}
