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
  public func changes(of key: KeyName) -> AsyncStream<KeyChange> {
    let changes = engine.changes(since: nil)
    let origin = origin
    return AsyncStream { await Self.next(of: key, in: changes, origin: origin) }
  }

  /// Returns the next change of a key. All iterators of an `AsyncStream` share its position, so using a new one per
  /// call loses no element.
  static func next(of key: KeyName, in changes: AsyncStream<StoreChange>, origin: StoreOrigin) async
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
