import Coffer
import Foundation

/// The plan of a value of a declared key.
struct DeclaredValue<Value: Sendable>: WritablePlan {
  private let router: StorageRouter
  private let coder: DeclaredCoder<Value>
  let resolved: StorageRouter.ResolvedKey

  @inline(__always)  // the type of the value is looked up once
  init<K: StorageKey>(
    _ router: StorageRouter, _ declaration: K, _ resolved: StorageRouter.ResolvedKey
  ) where K.Value == Value {
    (self.router, self.resolved, coder) = (router, resolved, resolved.coder(of: declaration))
  }

  var key: KeyName { resolved.key }
  var store: TypedStore { resolved.store }
  var traits: ValueTraits { resolved.traits }

  var damagePlan: DamagePlan {
    if let own = coder.damagePolicy { return DamagePlan(own) { try encode($0) } }
    return DamagePlan(store.damage.policy) { [resolved] in EncodedValue($0, resolved.attributes()) }
  }

  func decode(_ encoded: EncodedValue) throws -> Value { try coder.value(from: encoded, of: resolved) }

  /// - Throws: `encodingFailed`; `dataTooLargeForSync`. Nothing was written.
  @inline(__always)  // one frame less for each write
  func ready(_ value: Value, expires: Date? = nil) throws -> ReadyValue {
    let (encoded, box) = try coder.encoded(value, of: resolved)
    try router.checkSize(encoded.data.count, resolved.record, key)
    let attributes = resolved.attributes(expires: expires).merging(encoded.attributes)
    return ReadyValue(key: key, encoded: EncodedValue(encoded.data, attributes), box: box, traits: traits)
  }

  func encode(_ value: Value) throws -> EncodedValue { try ready(value).encoded }
}

extension StorageRouter {
  /// Resolves a key, and returns the plan of its value.
  nonisolated func plan<K: StorageKey>(_ key: K) async throws -> DeclaredValue<K.Value> {
    DeclaredValue(self, key, try await resolve(key))
  }
}

extension StorageRouter {
  @inline(never)  // The function that suspends would allocate what this one has on its stack.
  nonisolated func ready<K: StorageKey>(
    _ value: K.Value, for key: K, _ resolved: ResolvedKey, expires: Date?
  ) throws -> ReadyValue {
    try DeclaredValue(self, key, resolved).ready(value, expires: expires)
  }
}

extension StorageRouter.ResolvedKey {
  /// Returns the coder of a key: the one that is known, if it is of the same declaration.
  @inline(__always)
  func coder<K: StorageKey>(of key: K) -> DeclaredCoder<K.Value> {
    guard declaration === key.declaration, coder.valueType == ObjectIdentifier(K.Value.self) else {
      return DeclaredCoder(key)
    }
    // Nothing else is a coder. A checked cast would look the type up for each value.
    return unsafeDowncast(coder, to: DeclaredCoder<K.Value>.self)
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
  let damagePolicy: DamagePolicy<Value>?
  private let boxClass = Box<Value>.self
  // The parts of the serializer: a copy of it would look its type up.
  private let isNative: Bool
  private let encode: @Sendable (Value) throws -> Data
  private let decode: @Sendable (Data) throws -> Value

  @inline(never)  // The types that only it needs would be looked up for each value.
  init<K: StorageKey>(_ key: K) where K.Value == Value {
    let serializer = key.serializer
    (isNative, encode, decode) = (serializer.isNative, serializer.encode, serializer.decode)
    damagePolicy = key.damagePolicy
  }

  func box(_ encoded: EncodedValue, of resolved: StorageRouter.ResolvedKey) throws -> any AnyBox {
    boxClass.init(try value(from: encoded, of: resolved), size: encoded.data.count)
  }

  /// Decodes a value of the present version.
  /// - Throws: `StorageError`: `migrationNeeded` for a version that has a step, `newerFormat` for a later one that has
  ///   none.
  @inline(__always)  // one frame less for each read
  func value(from encoded: EncodedValue, of resolved: StorageRouter.ResolvedKey) throws -> Value {
    try resolved.requirePresent(encoded.attributes)
    return try resolved.store.coding.value(
      Value.self, of: encoded, isNative: isNative, for: resolved.key, decode: decode)
  }

  /// Returns a value as it is stored, without the attributes of its key, and as it is cached.
  func encoded(_ value: Value, of resolved: StorageRouter.ResolvedKey) throws -> (EncodedValue, any AnyBox) {
    let encoded = try resolved.store.coding.stored(value, isNative: isNative, for: resolved.key) { try encode(value) }
    return (encoded, boxClass.init(value, size: encoded.data.count))
  }
}
