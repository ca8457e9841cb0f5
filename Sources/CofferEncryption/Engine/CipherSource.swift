import CofferCore

/// The newest known state of a store's key ring, which concurrent callers read again together.
final class CipherSource: Sendable {
  private typealias Reading = Task<StoreCipher, any Error>

  private struct State {
    var current: StoreCipher
    /// The position in the store's history up to which the ring is known not to have changed.
    var checkedAt: JournalPosition
    var reading: Reading?

    /// Notes that the present state is valid at a position.
    mutating func check(at position: JournalPosition) {
      let isOlder = checkedAt.epoch == position.epoch && checkedAt.revision >= position.revision
      if !isOlder { checkedAt = position }
    }
  }

  /// The number of readings of the ring for one snapshot.
  private static let attempts = 8

  private let base: any StorageEngine
  let store: KeyRingStore
  private let configuration: EncryptedEngine.Configuration
  private let rollback: RollbackGuard?
  /// The phase of the ring in which the handle serves.
  private let phase: KeyRing.Phase
  private let state: Locked<State>

  init(
    _ open: OpenKeyRing, in store: KeyRingStore, readAt position: JournalPosition,
    _ configuration: EncryptedEngine.Configuration, _ rollback: RollbackGuard?, serving phase: KeyRing.Phase
  ) throws {
    base = store.engine
    self.rollback = rollback
    self.phase = phase
    self.store = store
    self.configuration = configuration
    let cipher = try StoreCipher(open, over: base, configuration)
    state = Locked(State(current: cipher, checkedAt: position))
  }

  /// Refuses a ring in another phase than that in which this handle serves.
  /// - Throws: `encryptionUnfinished`; `busy` for a handle that encrypts or decrypts the store.
  func check(_ ring: KeyRing) throws {
    guard ring.phase != phase else { return }
    guard phase == .complete else {
      throw StorageError(
        .busy, "Another process encrypts or decrypts the store, or has finished it.",
        advice: "Run the same operation again.", location: base.description)
    }
    throw StorageError.isUnfinished(ring.phase, location: base.description)
  }

  /// The newest known state.
  var current: StoreCipher { state.withLock { $0.current } }

  /// Whether no commit of the store can have changed the ring since `cipher` was read.
  func isCurrent(_ cipher: StoreCipher) -> Bool { known(at: base.latestPosition) === cipher }

  /// Returns the newest known state if no commit up to a position can have changed the ring since it was read.
  private func known(at position: JournalPosition) -> StoreCipher? {
    let (cipher, checkedAt) = state.withLock { ($0.current, $0.checkedAt) }
    guard checkedAt.epoch == position.epoch else { return nil }
    if position.revision <= checkedAt.revision { return cipher }
    guard let commits = base.recentCommits(after: checkedAt.revision), let last = commits.last,
      last.revision >= position.revision,
      !commits.contains(where: { $0.changed.records.contains(SystemRecord.Name.keyRing) || $0.origin == nil })
    else { return nil }
    state.withLock { $0.check(at: JournalPosition(epoch: position.epoch, revision: last.revision)) }
    return cipher
  }

  /// Returns the state of the ring at the revision of a snapshot that was just taken; `nil` if the ring has been
  /// changed since, so that a newer snapshot is needed.
  /// - Throws: ``StorageError`` if the ring cannot be read.
  func state(at revision: StoreRevision) async throws -> StoreCipher? {
    let position = JournalPosition(epoch: base.latestPosition.epoch, revision: revision)
    if let cipher = known(at: position), cipher.open.revisions.newest <= revision { return cipher }
    for _ in 0..<Self.attempts {
      let cipher = current
      guard try await reload(after: cipher) === cipher else { continue }
      // This reading began after the snapshot was taken.
      guard cipher.open.revisions.newest <= revision else { return nil }
      state.withLock { if $0.current === cipher { $0.check(at: position) } }
      return cipher
    }
    return nil
  }

  /// Returns the state that is valid after a failure under `cipher`; the same object if the ring has not changed.
  /// - Throws: ``StorageError`` if the ring cannot be read.
  func reload(after cipher: StoreCipher) async throws -> StoreCipher {
    // A reading that began before the failure may have missed the change, so that another one must follow it.
    let earlier = state.withLock { state in state.current === cipher ? state.reading : nil }
    if let earlier { _ = try? await earlier.value }
    let (known, reading) = state.withLock { state -> (StoreCipher?, Reading?) in
      guard state.current === cipher else { return (state.current, nil) }
      let reading = state.reading.flatMap { $0 == earlier ? nil : $0 } ?? read(after: cipher)
      state.reading = reading
      return (nil, reading)
    }
    if let known { return known }
    return try await reading?.value ?? cipher
  }

  private func read(after cipher: StoreCipher) -> Reading {
    Task {
      let position = base.latestPosition
      defer { state.withLock { $0.reading = nil } }
      let open = try await store.reload(cipher.open)
      guard configuration.rollbackProtection == nil || open.ring.generation >= cipher.ring.generation else {
        throw StorageError.ringIsOlder(
          open.ring.generation, than: cipher.ring.generation, location: base.description)
      }
      try check(open.ring)
      let next =
        open.revisions == cipher.open.revisions
        ? cipher : try StoreCipher(open, over: base, configuration)
      return state.withLock { state in
        // A change by this process may have been installed meanwhile, and must not be undone.
        guard state.current === cipher else { return state.current }
        state.current = next
        state.check(at: position)
        return next
      }
    }
  }

  /// Changes the key ring, and returns the state that is valid afterwards. `change` runs again if another process has
  /// changed the ring at the same time.
  /// - Throws: also `rolledBack` if somebody has replaced the ring by an older one, and the store has an anchor.
  @discardableResult
  func update(
    with operations: () async throws -> [WriteBatch.Operation] = { [] }, _ change: (inout KeyRing) throws -> Void
  ) async throws -> StoreCipher {
    let cipher = current
    let open = try await store.update(
      cipher.open, with: operations, refusingOlder: configuration.rollbackProtection != nil
    ) { ring in
      try check(ring)
      try change(&ring)
    }
    rollback?.noteCommit(open.ring.generation)
    let next = try StoreCipher(open, over: base, configuration)
    state.withLock { state in
      guard state.current.ring.generation < next.ring.generation else { return }
      state.current = next
      state.check(at: JournalPosition(epoch: base.latestPosition.epoch, revision: open.revisions.newest))
    }
    return next
  }

  /// Removes the key ring of a store whose values are all in plain.
  /// - Throws: `busy` if another process has changed the ring meanwhile.
  func removeRing() async throws {
    let cipher = current
    guard try await store.remove(cipher.open) else {
      throw StorageError(
        .busy, "Another process has changed the key ring of the store.",
        advice: "Run the same operation again. The values stay as they are.", location: base.description)
    }
  }

  /// Returns the state that is valid after a value did not open under `cipher`.
  /// - Throws: `error` if the ring cannot be read; `notFound` if it was removed; `rolledBack`; `encryptionUnfinished`;
  ///   `wrongLabel` if it has another label now.
  func reload(after cipher: StoreCipher, orThrow error: StorageError) async throws -> StoreCipher {
    do { return try await reload(after: cipher) } catch let cause as StorageError
      where ![.notFound, .closed, .rolledBack, .encryptionUnfinished, .wrongLabel].contains(cause.code)
    {
      throw error
    }
  }
}

extension OpenKeyRing.Revisions {
  /// The revision of the last change of a record.
  fileprivate var newest: StoreRevision { max(record ?? .zero, copy ?? .zero) }
}
