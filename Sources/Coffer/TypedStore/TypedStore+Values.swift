public import CofferCore
import Foundation

extension TypedStore {
  /// Returns a stream of the current value and the value after each change by any writer; `nil` while it is absent.
  ///
  /// ```swift
  /// for await theme in store.values(of: key, as: Theme.self) {
  ///   switch theme {
  ///   case .success(let theme): apply(theme ?? .system)
  ///   case .failure(let error): show(error)  // the stream continues
  ///   }
  /// }
  /// ```
  ///
  /// A value that cannot be read or decoded is delivered as a failure, and the stream continues: the next value
  /// follows once the key changes or the store can be read again. Write `try theme.get()` to end the loop at the first
  /// failure instead. A failure that persists is delivered once.
  ///
  /// A slow consumer may skip intermediate values but always receives the latest one. The stream ends when the engine
  /// is closed or the task is cancelled. When the value expires, the stream delivers `nil`.
  public func values<T: Decodable & Sendable>(
    of key: KeyName, as type: T.Type
  ) -> AsyncStream<Result<T?, StorageError>> {
    values(CodedValue<T>(store: self, key: key))
  }

  package func values<P: ValuePlan>(_ plan: P) -> AsyncStream<Result<P.Value?, StorageError>> {
    let key = plan.key
    // Subscribe before the first read, so that no change falls between the two.
    let changes = engine.changes(since: nil)
    let waiting = ChangeOrExpiry(engine.clock) { [origin] in
      await Self.next(of: key, in: changes, origin: origin)
    }
    let progress = Locked(ValueProgress())
    return AsyncStream { [self] in
      while !Task.isCancelled {
        let before = progress.withLock { $0 }
        guard let needed = await nextRevision(of: key, after: before, waiting) else { return nil }
        let position = engine.latestPosition
        do {
          let (value, revision, expires) = try await reading {
            try await present(plan, notBefore: needed.revision)
          } damaged: {
            try await plan.handle($0)
          }
          progress.withLock { $0 = ValueProgress(seen: (revision, expires)) }
          return .success(value)
        } catch is CancellationError {
          return nil
        } catch {
          let error = StoredError.storage(error)
          guard error.code != .closed else { return nil }
          progress.withLock {
            $0.failure = (error, position)
            $0.failures += 1
          }
          if !needed.isChange, let failure = before.failure, failure.error.isSame(as: error) { continue }
          return .failure(error)
        }
      }
      return nil
    }
  }

  /// Waits until the value must be read, and returns the revision that it must have; `nil` when the stream ends.
  private func nextRevision(
    of key: KeyName, after progress: ValueProgress, _ waiting: ChangeOrExpiry
  ) async -> (revision: StoreRevision, isChange: Bool)? {
    if let failure = progress.failure {
      switch await engine.waitToRead(key, after: failure.error, since: failure.position) {
      case .changed(let revision):
        engine.tellRetry(.read, attempt: progress.failures, code: failure.error.code)
        return (revision, true)
      case .due:
        engine.tellRetry(.read, attempt: progress.failures, code: failure.error.code)
        return (.zero, false)
      case .ended: return nil
      }
    }
    guard let known = progress.seen else { return (.zero, true) }
    while true {
      switch await waiting.event(before: known.expires) {
      // Older changes are part of the delivered value.
      case .change(let change): if change.revision > known.revision { return (change.revision, true) }
      case .expiry: return (known.revision, true)
      case .end: return nil
      }
    }
  }

  /// Returns the value, the revision of the state it was read from (zero where the engine has no snapshots), and the
  /// date from which it is absent.
  private func present<P: ValuePlan>(
    _ plan: P, notBefore needed: StoreRevision
  ) async throws -> (P.Value?, StoreRevision, Date?) {
    let key = plan.key
    if let pending, pending.value(of: key) != nil { try await pending.flush([key]) }
    guard engine.capabilities.contains(.snapshots) else {
      return (Self.unbox(try await read(plan)), .zero, nil)
    }
    if let (box, validTo, expires) = cache?.lookUp(key), validTo >= needed, let value: P.Value = Self.unbox(box) {
      return (value, validTo, expires)
    }
    let (entry, revision) = try await reads.read(key, notBefore: needed)
    // A read that was shared may have begun before the value expired.
    guard let entry = entry?.present(at: engine.clock.now()) else { return (nil, revision, nil) }
    return (Self.unbox(try boxed(entry, plan, readAt: revision)), revision, entry.attributes.expires)
  }
}

/// The progress of a stream of values.
private struct ValueProgress: Sendable {
  /// The revision of the last delivered value, and the date from which it is absent; `nil` before the first.
  var seen: (revision: StoreRevision, expires: Date?)?
  /// The last failure, unless a value was read since, and the position of the store before that read.
  var failure: (error: StorageError, position: JournalPosition)?
  /// The number of failures since a value was read.
  var failures = 0
}
