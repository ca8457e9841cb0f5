import Foundation

extension TypedStore {
  /// Returns the value of a key with a policy of its own for damage, instead of that of the store.
  ///
  /// ```swift
  /// let theme = try await store.load(Theme.self, for: "theme", damagePolicy: .replace(with: .system))
  /// ```
  /// - Throws: The errors of ``load(_:for:)-(_,KeyName)``.
  public func load<T: Codable & Sendable>(
    _ type: T.Type, for key: KeyName, damagePolicy: DamagePolicy<T>
  ) async throws -> T? {
    let coding = coding
    let damage = DamagePlan(damagePolicy) { try coding.encode($0, for: key) }
    return Self.unbox(try await load(CodedValue<T>(store: self, key: key, damage: damage)))
  }
}
