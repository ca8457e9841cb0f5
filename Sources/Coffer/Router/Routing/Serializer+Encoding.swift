import Foundation

extension Serializer {
  /// Returns a value as the bytes and attributes that are stored for a key: in preferences, unless the key has a
  /// serializer of its own, its property list type.
  func encoded(_ value: Value, _ resolved: StorageRouter.ResolvedKey, expires: Date? = nil) throws -> EncodedValue {
    let encoded: EncodedValue
    do {
      if isNative, resolved.store.coding.holdsPropertyLists {
        encoded = try EncodedValue(preference: value) { try encode(value) }
      } else {
        encoded = EncodedValue(try encode(value))
      }
    } catch {
      throw ByteCoding.encodingFailed(Value.self, error, location: resolved.store.engine.description, key: resolved.key)
    }
    return EncodedValue(encoded.data, resolved.attributes(expires: expires).merging(encoded.attributes))
  }

  func value(from encoded: EncodedValue, _ resolved: StorageRouter.ResolvedKey) throws -> Value {
    let location = resolved.store.engine.description
    if let error = StorageError.foreignForm(encoded.attributes, at: location, key: resolved.key) { throw error }
    do {
      if let value = try encoded.legacyValue(Value.self) { return value }
      if isNative, let value = encoded.preference(Value.self) { return value }
      return try decode(encoded.data)
    } catch let error as DataMigrationError {
      throw error.locating(at: resolved.store.engine.description, key: resolved.key)
    } catch {
      throw ByteCoding.decodingFailed(
        Value.self, error, location: resolved.store.engine.description, key: resolved.key,
        advice: "They are kept; read them with bytes(of:).")
    }
  }
}
