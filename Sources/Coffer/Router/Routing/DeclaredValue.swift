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

  func decode(_ encoded: EncodedValue) throws -> K.Value { try serializer.value(from: encoded, resolved) }

  /// - Throws: `encodingFailed`; `dataTooLargeForSync`. Nothing was written.
  func encode(_ value: K.Value, expires: Date? = nil) throws -> EncodedValue {
    try router.complete(try serializer.encoded(value, resolved.store.coding, key), of: resolved, expires: expires)
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
}

extension StorageRouter {
  /// Returns a value with the attributes of its key.
  /// - Throws: `dataTooLargeForSync`.
  nonisolated func complete(
    _ encoded: EncodedValue, of resolved: ResolvedKey, expires: Date?
  ) throws -> EncodedValue {
    var attributes = encoded.attributes
    if let schema = resolved.record.schema { attributes = schema.mark.merging(attributes) }
    try checkSize(encoded.data.count, resolved.record, resolved.key)
    return EncodedValue(encoded.data, resolved.attributes(expires: expires).merging(attributes))
  }
}

/// Encodes and decodes the values of a resolved key, whose type is not known where they are read.
protocol BoxCoder: AnyObject, Sendable {
  var valueType: ObjectIdentifier { get }
  var boxType: ObjectIdentifier { get }
  func box(_ encoded: EncodedValue, of resolved: StorageRouter.ResolvedKey) throws -> any AnyBox
}

final class DeclaredCoder<Value: Sendable>: BoxCoder {
  let valueType = ObjectIdentifier(Value.self)
  let boxType = ObjectIdentifier(Box<Value>.self)
  private let boxClass = Box<Value>.self
  // The parts of the serializer: a copy of it would look its type up.
  private let isNative: Bool
  private let encode: @Sendable (Value) throws -> Data
  private let decode: @Sendable (Data) throws -> Value

  init<K: StorageKey>(_ key: K) where K.Value == Value {
    let serializer = key.serializer
    (isNative, encode, decode) = (serializer.isNative, serializer.encode, serializer.decode)
  }

  func box(_ encoded: EncodedValue, of resolved: StorageRouter.ResolvedKey) throws -> any AnyBox {
    let (coding, key) = (resolved.store.coding, resolved.key)
    try resolved.record.schema?.requirePresent(encoded.attributes, of: key, at: coding.location)
    let value = try coding.value(Value.self, of: encoded, isNative: isNative, for: key, decode: decode)
    return boxClass.init(value, size: encoded.data.count)
  }

  /// Returns a value as it is stored, and as it is cached.
  func encoded(_ value: Value, of resolved: StorageRouter.ResolvedKey) throws -> (EncodedValue, any AnyBox) {
    let encoded = try resolved.store.coding.stored(value, isNative: isNative, for: resolved.key) { try encode(value) }
    return (encoded, boxClass.init(value, size: encoded.data.count))
  }
}
