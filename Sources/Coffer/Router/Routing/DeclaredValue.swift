import Foundation

/// The plan of a value of a declared key.
struct DeclaredValue<K: StorageKey>: WritablePlan {
  private let router: StorageRouter
  private let declaration: K
  let resolved: StorageRouter.ResolvedKey

  init(_ router: StorageRouter, _ declaration: K, _ resolved: StorageRouter.ResolvedKey) {
    (self.router, self.declaration, self.resolved) = (router, declaration, resolved)
  }

  var key: StoreKey { resolved.key }
  var traits: ValueTraits { resolved.traits }
  private var serializer: Serializer<K.Value> { declaration.serializer }
  private var schema: DeclaredSchema? { resolved.record.schema }
  private var location: String { resolved.store.coding.location }

  func decode(_ encoded: EncodedValue) throws -> K.Value {
    try schema?.requirePresent(encoded.attributes, of: key, at: location)
    return try serializer.presentValue(from: encoded, resolved)
  }

  func decode(_ old: OldForm) throws -> K.Value? {
    guard let schema, try schema.isPresent(old.attributes, of: key, at: location) else { return nil }
    return try serializer.presentValue(from: EncodedValue(old.data, old.attributes), resolved)
  }

  /// - Throws: `encodingFailed`; `dataTooLargeForSync`. Nothing was written.
  func encode(_ value: K.Value, expires: Date? = nil) throws -> EncodedValue {
    var encoded = try serializer.encoded(value, resolved.store.coding, key)
    if let schema { encoded = EncodedValue(encoded.data, schema.mark.merging(encoded.attributes)) }
    try router.checkSize(encoded.data.count, resolved.record, key)
    return EncodedValue(encoded.data, resolved.attributes(expires: expires).merging(encoded.attributes))
  }

  func handle(_ error: StorageError) async throws {
    let (resolved, damage) = (resolved, resolved.store.damage)
    let plan =
      if let own = declaration.damagePolicy {
        DamagePlan(own) { try encode($0) }
      } else {
        DamagePlan(damage.policy) {
          EncodedValue($0, (resolved.record.schema?.mark ?? .none).merging(resolved.attributes))
        }
      }
    try await damage.handle(key, after: error, plan) { encoded in
      // A value of an older version is intact: the next read migrates it.
      do { _ = try decode(encoded) } catch let error as StorageError where error.code == .migrationNeeded {}
    }
  }
}

extension StorageRouter {
  /// Resolves a key, and returns the plan of its value.
  nonisolated func plan<K: StorageKey>(_ key: K) async throws -> DeclaredValue<K> {
    DeclaredValue(self, key, try await resolve(key))
  }

  /// Returns the plan of a key whose declaration was resolved before, without suspending.
  nonisolated func knownPlan<K: StorageKey>(_ key: K) -> DeclaredValue<K>? {
    registry.resolved(of: key.declaration).map { DeclaredValue(self, key, $0) }
  }
}
