import CofferLocks
public import Foundation

/// A change of one key, as delivered to its subscribers.
public enum KeyChange: Hashable, Sendable {
  /// A commit has stored or removed the value. `isOwn` is `true` if this store made the commit; `transaction` is `nil`
  /// if the writer does not use this library.
  case changed(revision: StoreRevision, transaction: TransactionID?, isOwn: Bool)
  /// Individual changes up to this revision are no longer available: read the value again.
  case reload(upTo: StoreRevision)

  /// The revision up to which changes have been delivered.
  public var revision: StoreRevision {
    switch self {
    case .changed(let revision, _, _): revision
    case .reload(let revision): revision
    }
  }
}

extension TypedStore {
  /// Returns the changes of one key from now on, including those by this store.
  ///
  /// Each call returns a new stream, which is subscribed when the call returns. It ends when the engine is closed or
  /// the task is cancelled.
  public func changes(of key: StoreKey) -> AsyncStream<KeyChange> {
    let changes = engine.changes(since: nil)
    let origin = origin
    return AsyncStream { await Self.next(of: key, in: changes, origin: origin) }
  }

  /// Returns a stream of the current value and the value after each change by any writer; `nil` while it is absent.
  ///
  /// A slow consumer may skip intermediate values but always receives the latest one. The stream ends when the engine
  /// is closed, and throws when a value cannot be read or decoded.
  public func values<T: Decodable & Sendable>(of key: StoreKey, as type: T.Type) -> AsyncThrowingStream<T?, any Error> {
    let coding = coding
    return values(of: key) { try coding.decode(type, from: $0, for: key) }
  }

  func values<T: Sendable>(
    of key: StoreKey, decode: @escaping @Sendable (Data) throws -> T
  ) -> AsyncThrowingStream<T?, any Error> {
    // Subscribe before the first read, so that no change falls between the two.
    let changes = engine.changes(since: nil)
    let seen = Locked<StoreRevision?>(nil)
    return AsyncThrowingStream { [self] in
      var needed = StoreRevision.zero
      if let known = seen.withLock({ $0 }) {
        while needed <= known {  // Older changes are part of the value already delivered.
          guard let change = await Self.next(of: key, in: changes, origin: origin) else { return nil }
          needed = change.revision
        }
      }
      let (value, revision) = try await present(key, notBefore: needed, decode)
      seen.withLock { $0 = revision }
      return .some(value)
    }
  }

  /// Returns the value and the revision of the state it was read from; zero where the engine has no snapshots.
  private func present<T: Sendable>(
    _ key: StoreKey, notBefore needed: StoreRevision, _ decode: (Data) throws -> T
  ) async throws -> (T?, StoreRevision) {
    guard engine.capabilities.contains(.snapshots) else { return (try await load(key, decode: decode), .zero) }
    if let (box, validTo) = cache?.lookUp(key), validTo >= needed, let value: T = Self.unbox(box) {
      return (value, validTo)
    }
    let (entry, revision) = try await reads.read(key, notBefore: needed)
    guard let entry else { return (nil, revision) }
    let value = try decode(entry.value)
    cache?.insert([(key, Box(value))], readAt: revision)
    return (value, revision)
  }

  /// Returns the next change of a key. All iterators of an `AsyncStream` share its position, so using a new one per
  /// call loses no element.
  private static func next(of key: StoreKey, in changes: AsyncStream<StoreChange>, origin: StoreOrigin) async
    -> KeyChange?
  {
    for await change in changes {
      switch change {
      case .commit(let commit) where commit.changed.contains(key):
        return .changed(
          revision: commit.revision, transaction: commit.transaction, isOwn: commit.origin == origin)
      case .commit: continue
      case .reload(let revision): return .reload(upTo: revision)
      }
    }
    return nil
  }
}
