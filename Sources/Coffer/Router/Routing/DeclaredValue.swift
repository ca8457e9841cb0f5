import Foundation

/// The plan of a value of a declared key.
struct DeclaredValue<K: StorageKey>: WritablePlan {
  private let router: StorageRouter
  private let declaration: K
  private let serializer: Serializer<K.Value>
  let resolved: StorageRouter.ResolvedKey

  init(_ router: StorageRouter, _ declaration: K, _ resolved: StorageRouter.ResolvedKey) {
    (self.router, self.declaration, self.resolved) = (router, declaration, resolved)
    serializer = declaration.serializer
  }

  var key: StoreKey { resolved.key }

  func decode(_ encoded: EncodedValue) throws -> K.Value { try serializer.value(from: encoded, resolved) }

  func decode(_ old: OldForm) throws -> K.Value? {
    guard try resolved.isPresent(old.attributes) else { return nil }
    return try serializer.presentValue(from: EncodedValue(old.data, old.attributes), resolved)
  }

  /// - Throws: `encodingFailed`; `dataTooLargeForSync`. Nothing was written.
  func encode(_ value: K.Value, expires: Date? = nil) throws -> EncodedValue {
    let encoded = try serializer.encoded(value, resolved, expires: expires)
    try router.checkSize(encoded.data.count, resolved.record, key)
    return encoded
  }

  func handle(_ error: StorageError) async throws {
    let (resolved, damage) = (resolved, resolved.store.damage)
    let plan =
      if let own = declaration.damagePolicy {
        DamagePlan(own) { try encode($0) }
      } else {
        DamagePlan(damage.policy) { resolved.marked(EncodedValue($0, resolved.attributes)) }
      }
    try await damage.handle(key, after: error, plan) { try serializer.check($0, resolved) }
  }
}

extension StorageRouter {
  /// Resolves a key, and returns the plan of its value.
  nonisolated func plan<K: StorageKey>(_ key: K) async throws -> DeclaredValue<K> {
    DeclaredValue(self, key, try await resolve(key))
  }
}
