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
  /// is closed, and throws when a value cannot be read or decoded. When the value expires, the stream delivers `nil`.
  public func values<T: Decodable & Sendable>(of key: StoreKey, as type: T.Type) -> AsyncThrowingStream<T?, any Error> {
    let coding = coding
    return values(of: key) { try coding.decode(type, from: $0, for: key) }
  }

  func values<T: Sendable>(
    of key: StoreKey, decode: @escaping @Sendable (Data) throws -> T
  ) -> AsyncThrowingStream<T?, any Error> {
    // Subscribe before the first read, so that no change falls between the two.
    let changes = engine.changes(since: nil)
    let waiting = ChangeOrExpiry(engine.clock) { [origin] in
      await Self.next(of: key, in: changes, origin: origin)
    }
    let seen = Locked<(revision: StoreRevision, expires: Date?)?>(nil)
    return AsyncThrowingStream { [self] in
      var needed = StoreRevision.zero
      if let known = seen.withLock({ $0 }) {
        waiting: while needed <= known.revision {  // Older changes are part of the value already delivered.
          switch await waiting.event(before: known.expires) {
          case .change(let change): needed = change.revision
          case .expiry:
            needed = known.revision
            break waiting
          case .end: return nil
          }
        }
      }
      let (value, revision, expires) = try await present(key, notBefore: needed, decode)
      seen.withLock { $0 = (revision, expires) }
      return .some(value)
    }
  }

  /// Returns the value, the revision of the state it was read from (zero where the engine has no snapshots), and the
  /// date from which it is absent.
  private func present<T: Sendable>(
    _ key: StoreKey, notBefore needed: StoreRevision, _ decode: (Data) throws -> T
  ) async throws -> (T?, StoreRevision, Date?) {
    guard engine.capabilities.contains(.snapshots) else { return (try await load(key, decode: decode), .zero, nil) }
    // The expiry before the value: if the value is replaced in between, the next event is its change.
    let expires = cache?.expiry(of: key)
    if let (box, validTo) = cache?.lookUp(key), validTo >= needed, let value: T = Self.unbox(box) {
      return (value, validTo, expires)
    }
    let (entry, revision) = try await reads.read(key, notBefore: needed)
    // A read that was shared may have begun before the value expired.
    guard let entry = entry?.present(at: engine.clock.now()) else { return (nil, revision, nil) }
    let value = try decode(entry.value)
    cache?.insert([(key, Box(value))], readAt: revision, expiries: entry.expiries)
    return (value, revision, entry.attributes.expires)
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
