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
    return try await reading {
      try await load(key) { try coding.decode(type, from: $0, for: key) }
    } damaged: {
      try await damage.handle(key, after: $0, plan) { try coding.check(type, $0, for: key) }
    } newer: {
      try await previousValue(type, for: key)
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
}
