import Foundation

extension TypedStore {
  /// Returns the value of a key with a policy of its own for damage, instead of that of the store.
  ///
  /// ```swift
  /// let theme = try await store.load(Theme.self, for: "theme", damagePolicy: .replace(with: .system))
  /// ```
  /// - Throws: The errors of ``load(_:for:)-(_,StoreKey)``.
  public func load<T: Codable & Sendable>(
    _ type: T.Type, for key: StoreKey, damagePolicy: DamagePolicy<T>
  ) async throws -> T? {
    let coding = coding
    let plan = DamagePlan(damagePolicy) { try coding.encode($0, for: key) }
    return try await orPrevious {
      try await handlingDamage { _ in
        key
      } by: { key, error in
        try await damage.handle(key, after: error, plan) { try coding.check(type, $0, for: key) }
      } read: {
        try await load(key) { try coding.decode(type, from: $0, for: key) }
      }
    } previous: {
      try await previousValue(type, for: key)
    }
  }

  func handlingDamage<R, T: Decodable & Sendable>(
    of key: StoreKey, as type: T.Type, read: () async throws -> R
  ) async throws -> R {
    try await handlingDamage {
      _ in
      key
    } by: {
      try await handle($1, of: $0, as: type)
    } read: {
      try await read()
    }
  }

  /// Runs the store's policy after a read of a key has failed, and returns if the value should be read again.
  func handle<T: Decodable & Sendable>(_ error: StorageError, of key: StoreKey, as type: T.Type) async throws {
    let coding = coding
    try await damage.handle(key, after: error, DamagePlan(damage.policy) { coding.marked(EncodedValue($0), for: key) })
    {
      try coding.check(type, $0, for: key)
    }
  }

  /// Reads, and reads again after each damaged value that was handled and each older one that was migrated.
  /// - Parameters:
  ///   - damaged: returns the key of the damaged value that an error is about; `nil` if it is not one that is read.
  ///   - handle: throws if the value cannot be replaced.
  ///   - read: throws `damaged` for a damaged value.
  func handlingDamage<R>(
    _ damaged: (StorageError) -> StoreKey?, by handle: (StoreKey, StorageError) async throws -> Void,
    read: () async throws -> R
  ) async throws -> R {
    var handled: Set<StoreKey> = []
    var migrated: [StoreKey: Int] = [:]
    while true {
      do { return try await read() } catch let error as StorageError where error.code == .damaged {
        guard let key = damaged(error), handled.insert(key).inserted else { throw error }
        try await handle(key, error)
      } catch let error as StorageError where error.code == .migrationNeeded {
        guard let key = error.key, coding.schema != nil else { throw error }
        // Another process may roll the value back again and again.
        migrated[key, default: 0] += 1
        guard migrated[key, default: 0] <= 10 else { throw error }
        try await migrateValue(of: key)
      }
    }
  }
}
