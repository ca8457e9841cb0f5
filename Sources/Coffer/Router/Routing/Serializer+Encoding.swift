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
  /// - Throws: `StorageError`: `migrationNeeded` for a version that has a step, `newerFormat` for a later one that has
  ///   none.
  func value(from encoded: EncodedValue, _ resolved: StorageRouter.ResolvedKey) throws -> Value {
    let (coding, key) = (resolved.store.coding, resolved.key)
    try resolved.record.schema?.requirePresent(encoded.attributes, of: key, at: coding.location)
    return try coding.value(Value.self, of: encoded, isNative: isNative, for: key, decode: decode)
  }
}
