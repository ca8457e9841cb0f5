import CofferCore

extension StorageRouter {
  /// The availability of one of a router's stores.
  public struct StoreStatus: Hashable, Sendable {
    /// The location of the store.
    public let store: String
    /// The registered keys of the store, in the order of their names.
    public let keys: [KeyName]
    /// Whether the store can be read now, and why not.
    public let availability: StoreAvailability
  }
}

extension StorageRouter {
  /// Returns a stream of the availability of a key's store: the current state first, then each change.
  ///
  /// ```swift
  /// for await state in try await router.availability(of: .token) {
  ///   if case .unavailable(let reason) = state { showLocked(reason) } else { showAccount() }
  /// }
  /// ```
  ///
  /// The store is opened; while that fails, the stream delivers the reason and tries again each second. Each call
  /// returns a new stream, which ends when the router is closed or the task is cancelled.
  ///
  /// It is the availability of the store, also for an encrypted key of a store of plain values: whether the encryption
  /// key is available is seen when the value is read.
  /// - Throws: `StorageError` when the key cannot be used, for example because it is in no catalog; `closed`.
  public nonisolated func availability<K: StorageKey>(of key: K) async throws -> AsyncStream<StoreAvailability> {
    try await stream(
      of: key, failure: { .unavailable(reason: $0.message) }, begin: { $0.store.engine.availability() })
  }

  /// Returns whether the store of a key can be read now, and why not. Opens the store if it exists, and creates none: a
  /// store that does not exist yet is available.
  /// - Throws: `StorageError` when the key cannot be used, for example because it is in no catalog.
  public nonisolated func currentAvailability<K: StorageKey>(of key: K) async throws -> StoreAvailability {
    _ = try registry.find(key)
    return await currentAvailability(in: key.domain)
  }

  /// Returns whether each store of the registered keys can be read now, and why not, in the order of their names. Opens
  /// the stores that exist, and creates none: a store that does not exist yet is available.
  public nonisolated func currentAvailability() async -> [StoreStatus] {
    var all: [StoreStatus] = []
    for (name, domain, records) in groupedByStore(registry.registered) {
      let availability: StoreAvailability
      switch domain {
      case .success(let domain): availability = await currentAvailability(in: domain)
      case .failure(let error): availability = .unavailable(reason: error.message)
      }
      all.append(StoreStatus(store: name, keys: records.map(\.key), availability: availability))
    }
    return all
  }

  private nonisolated func currentAvailability(in domain: StorageDomain) async -> StoreAvailability {
    do {
      return try await existingStore(of: domain)?.engine.currentAvailability ?? .available
    } catch {
      return .unavailable(reason: StoredError.storage(error).message)
    }
  }
}
