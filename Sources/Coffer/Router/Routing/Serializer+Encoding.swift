import Foundation

extension Serializer {
  /// Returns a value as it is stored: in preferences, unless the key has a serializer of its own, its property list
  /// type.
  func encoded(_ value: Value, _ coding: ByteCoding, _ key: StoreKey) throws -> EncodedValue {
    try coding.stored(value, isNative: isNative, for: key) { try encode(value) }
  }

  /// Returns a value with the mark of its version, without the attributes of its key.
  func marked(_ value: Value, _ mark: SchemaMark, _ coding: ByteCoding, _ key: StoreKey) throws -> EncodedValue {
    let encoded = try encoded(value, coding, key)
    return EncodedValue(encoded.data, mark.attributes.merging(encoded.attributes))
  }

  /// Decodes a value of the present version.
  /// - Throws: `StorageError`: `migrationNeeded` for an older version, `newerFormat` for a later one.
  func value(from encoded: EncodedValue, _ resolved: StorageRouter.ResolvedKey) throws -> Value {
    try resolved.record.schema?.requirePresent(
      encoded.attributes, of: resolved.key, at: resolved.store.coding.location)
    return try presentValue(from: encoded, resolved)
  }

  /// Decodes a value whose version was checked.
  func presentValue(from encoded: EncodedValue, _ resolved: StorageRouter.ResolvedKey) throws -> Value {
    try resolved.store.coding.value(Value.self, of: encoded, isNative: isNative, for: resolved.key, decode: decode)
  }
}
