/// An engine whose expired values can be found until they are swept.
package protocol ExpiringEngine: StorageEngine {
  /// Reads one state of the store, including values that have expired.
  func withStoredSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R
}

extension StorageEngine {
  /// This engine or the first engine behind it that is of a kind.
  func firstBehind<Kind>(_ kind: (any StorageEngine) -> Kind?) -> Kind? {
    var engine: any StorageEngine = self
    while true {
      if let found = kind(engine) { return found }
      guard let decorator = engine as? any EngineDecorator else { return nil }
      engine = decorator.base
    }
  }

  /// Reads one state of the store, including values that have expired if the engine can find them.
  package func withAllStored<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    guard let engine = firstBehind({ $0 as? any ExpiringEngine }) else { return try await withSnapshot(body) }
    return try await engine.withStoredSnapshot(body)
  }

  /// Whether a value of a key, or of any key with a prefix, is stored, even if it has expired.
  package func stores(_ key: KeyName, isPrefix: Bool) async throws -> Bool {
    guard let engine = firstBehind({ $0 as? any ExpiringEngine }) else { return false }
    let first = try await engine.withStoredSnapshot { try await $0.summaries(prefix: key, after: nil, limit: 1).first }
    return first.map { isPrefix || $0.key == key } ?? false
  }
}
