import CofferCore
import CofferLocks

/// The newest known state of a store's key ring, which concurrent callers read again together.
final class CipherSource: Sendable {
  private typealias Reading = Task<StoreCipher, any Error>

  private struct State {
    var current: StoreCipher
    /// The revision of the store up to which the ring is known not to have changed.
    var checkedAt: StoreRevision
    var reading: Reading?
  }

  private let base: any StorageEngine
  private let store: KeyRingStore
  private let configuration: EncryptionConfiguration
  private let state: Locked<State>

  init(
    _ open: OpenKeyRing, in store: KeyRingStore, readAt revision: StoreRevision,
    _ configuration: EncryptionConfiguration
  ) throws {
    base = store.engine
    self.store = store
    self.configuration = configuration
    let cipher = try StoreCipher(open, over: base, configuration)
    state = Locked(State(current: cipher, checkedAt: revision))
  }

  /// The newest known state.
  var current: StoreCipher { state.withLock { $0.current } }

  /// Whether no commit of the store can have changed the ring since it was read.
  var isCurrent: Bool {
    let latest = base.latestRevision
    let checkedAt = state.withLock { $0.checkedAt }
    guard checkedAt < latest else { return true }
    guard let commits = base.recentCommits(after: checkedAt), let last = commits.last,
      !commits.contains(where: { $0.changed.records.contains(KeyRingStore.record) || $0.origin == nil })
    else { return false }
    state.withLock { $0.checkedAt = max($0.checkedAt, last.revision) }
    return last.revision >= latest
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
      let revision = base.latestRevision
      defer { state.withLock { $0.reading = nil } }
      let open = try await store.reload(cipher.open)
      let next =
        open.revisions == cipher.open.revisions
        ? cipher : try StoreCipher(open, over: base, configuration)
      return state.withLock { state in
        // A change by this process may have been installed meanwhile, and must not be undone.
        guard state.current === cipher else { return state.current }
        state.current = next
        state.checkedAt = max(state.checkedAt, revision)
        return next
      }
    }
  }

  /// Changes the key ring, and returns the state that is valid afterwards. `change` runs again if another process has
  /// changed the ring at the same time.
  @discardableResult
  func update(_ change: (inout KeyRing) throws -> Void) async throws -> StoreCipher {
    let revision = base.latestRevision
    let cipher = current
    let open = try await store.update(cipher.open, change)
    let next = try StoreCipher(open, over: base, configuration)
    state.withLock { state in
      guard state.current.ring.generation < next.ring.generation else { return }
      state.current = next
      state.checkedAt = max(state.checkedAt, revision)
    }
    return next
  }

  /// Removes the key ring of a store whose values are all in plain.
  /// - Throws: `busy` if another process has changed the ring meanwhile, or no longer decrypts the store.
  func removeRing() async throws {
    let cipher = current
    guard cipher.ring.phase == .decrypting, try await store.remove(cipher.open) else {
      throw StorageError(
        .busy, "Another process has changed the key ring of the store.",
        advice: "Run the same operation again. The values stay as they are.", location: base.description)
    }
  }

  /// Returns the state that is valid after a value did not open under `cipher`.
  /// - Throws: `error` if the ring cannot be read; `notFound` if it was removed.
  func reload(after cipher: StoreCipher, orThrow error: StorageError) async throws -> StoreCipher {
    do { return try await reload(after: cipher) } catch let cause as StorageError
      where cause.code != .notFound && cause.code != .closed
    {
      throw error
    }
  }
}
