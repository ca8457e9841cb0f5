import Foundation

extension Serializer {
  /// Returns a value as the bytes and attributes that are stored for a key: in preferences, unless the key has a
  /// serializer of its own, its property list type.
  func encoded(_ value: Value, _ resolved: StorageRouter.ResolvedKey, expires: Date? = nil) throws -> EncodedValue {
    let (coding, key) = (resolved.store.coding, resolved.key)
    let encoded = try resolved.marked(encoded(value, coding, key))
    return EncodedValue(encoded.data, resolved.attributes(expires: expires).merging(encoded.attributes))
  }

  private func encoded(_ value: Value, _ coding: ByteCoding, _ key: StoreKey) throws -> EncodedValue {
    do {
      guard isNative, coding.holdsPropertyLists else { return EncodedValue(try encode(value)) }
      return try EncodedValue(preference: value) { try encode(value) }
    } catch {
      throw ByteCoding.encodingFailed(Value.self, error, location: coding.location, key: key)
    }
  }

  /// Returns a value with the mark of its version, without the attributes of its key.
  func marked(_ value: Value, _ mark: SchemaMark, _ coding: ByteCoding, _ key: StoreKey) throws -> EncodedValue {
    let encoded = try encoded(value, coding, key)
    return EncodedValue(encoded.data, mark.attributes.merging(encoded.attributes))
  }

  /// Checks that a value can be read. One of an older version is intact: the next read migrates it.
  func check(_ encoded: EncodedValue, _ resolved: StorageRouter.ResolvedKey) throws {
    do { _ = try value(from: encoded, resolved) } catch let error as StorageError where error.code == .migrationNeeded {
    }
  }

  /// Decodes a value of the present version.
  /// - Throws: `StorageError`: `migrationNeeded` for an older version of the key's schema, `newerFormat` for a later
  ///   one.
  func value(from encoded: EncodedValue, _ resolved: StorageRouter.ResolvedKey) throws -> Value {
    try resolved.checkVersion(encoded.attributes)
    return try presentValue(from: encoded, resolved)
  }

  /// Decodes a value whose version was checked.
  func presentValue(from encoded: EncodedValue, _ resolved: StorageRouter.ResolvedKey) throws -> Value {
    if let error = StorageError.foreignForm(
      encoded.attributes, at: resolved.store.engine.description, key: resolved.key)
    {
      throw error
    }
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
