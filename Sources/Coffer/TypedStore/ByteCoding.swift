package import Foundation

/// The encoding of values: `Data` and `String` as they are, all other types by the codec. Failures are `StorageError`.
/// A class, so that passing it on copies one reference.
package final class ByteCoding: Sendable {
  let codec: any StoreCodec
  package let location: String
  let holdsPropertyLists: Bool
  /// The schemas of values by key; `nil` if none is declared.
  package let schema: StoreSchema?
  /// Whether the codec also encodes `Data` and `String`, which are stored as they are otherwise.
  package let encodesAllTypes: Bool

  /// Returns the coding of values in the form of a router's serializer.
  /// - Parameters:
  ///   - codec: the codec of all types; `nil` for `Data` and `String` as they are.
  ///   - isNative: whether preferences have values of their property list types.
  package func serialized(by codec: (any StoreCodec)?, isNative: Bool) -> ByteCoding {
    ByteCoding(
      codec: codec ?? self.codec, location: location, holdsPropertyLists: holdsPropertyLists && isNative,
      encodesAllTypes: codec != nil)
  }

  private init(codec: any StoreCodec, location: String, holdsPropertyLists: Bool, encodesAllTypes: Bool) {
    (self.codec, self.location, self.holdsPropertyLists) = (codec, location, holdsPropertyLists)
    (self.encodesAllTypes, schema) = (encodesAllTypes, nil)
  }

  /// - Parameter encodesAllTypes: whether the codec also encodes `Data` and `String`.
  init(codec: any StoreCodec, engine: any StorageEngine, schema: StoreSchema? = nil, encodesAllTypes: Bool = false) {
    self.codec = codec
    self.schema = schema
    self.encodesAllTypes = encodesAllTypes
    location = engine.description
    holdsPropertyLists = engine.capabilities.contains(.propertyLists)
  }

  /// Returns a value as its bytes and the attributes that are stored with them: in preferences its property list type.
  package func encode<T: Encodable>(_ value: T, for key: KeyName) throws -> EncodedValue {
    guard let schema = schema?[key] else { return try plainEncode(value, for: key) }
    try require(T.self, as: schema, for: key)
    return try marked(plainEncode(value, for: key), by: schema)
  }

  private func plainEncode<T: Encodable>(_ value: T, for key: KeyName) throws -> EncodedValue {
    try stored(value, for: key) { try plainBytes(of: value) }
  }

  /// Returns a value as it is stored, given its bytes: in preferences as its property list type, if it has one.
  package func stored<T>(
    _ value: T, isNative: Bool = true, for key: KeyName, bytes: () throws -> Data
  ) throws -> EncodedValue {
    do {
      guard isNative, holdsPropertyLists else { return EncodedValue(try bytes()) }
      return try EncodedValue(preference: value, otherwise: bytes)
    } catch {
      throw encodingFailed(T.self, error, for: key)
    }
  }

  /// - Throws: `StorageError`: `migrationNeeded` for a version that has a step, `newerFormat` for a later one that has
  ///   none.
  package func decode<T: Decodable>(_ type: T.Type, from encoded: EncodedValue, for key: KeyName) throws -> T {
    if let schema = schema?[key], type != Data.self || schema.type == Data.self {
      try require(type, as: schema, for: key)
      try schema.requirePresent(encoded.attributes, of: key, at: location)
    }
    return try plainDecode(type, from: encoded, for: key)
  }

  /// Decodes a value of any version.
  func plainDecode<T: Decodable>(_ type: T.Type, from encoded: EncodedValue, for key: KeyName) throws -> T {
    try value(type, of: encoded, isNative: type != Data.self || encodesAllTypes, for: key) { data in
      if !encodesAllTypes, type == Data.self, let raw = data as? T { return raw }
      if !encodesAllTypes, type == String.self {
        // Decoding would repair invalid UTF-8, which changes the bytes.
        guard let text = String(validating: data, as: UTF8.self), let value = text as? T else {
          throw CocoaError(.coderReadCorrupt)
        }
        return value
      }
      return try codec.decode(type, from: data)
    }
  }

  /// Returns a stored value, given a function that decodes its bytes.
  /// - Parameter isNative: whether a property list type of preferences is read as such.
  package func value<T>(
    _ type: T.Type, of encoded: EncodedValue, isNative: Bool, for key: KeyName, decode: (Data) throws -> T
  ) throws -> T {
    if let error = StorageError.otherForm(encoded.attributes, at: location, key: key) { throw error }
    do {
      if encoded.attributes.isEmpty { return try decode(encoded.data) }
      return try attributed(type, of: encoded, isNative: isNative, decode: decode)
    } catch let error as StorageError where error.location.isEmpty {
      throw error.locating(at: location, key: key)
    } catch {
      throw StorageError(
        .decodingFailed, "The stored bytes could not be read as \(type).",
        advice: "They are kept, and can be read as bytes.", location: location, key: key,
        underlying: Self.describe(error))
    }
  }

  @inline(never)  // Looking up the optional type would cost each value as much as its decoding.
  private func attributed<T>(
    _ type: T.Type, of encoded: EncodedValue, isNative: Bool, decode: (Data) throws -> T
  ) throws -> T {
    if let value = try encoded.jsonString(type) { return value }
    if isNative, let value = encoded.preference(type) { return value }
    return try decode(encoded.data)
  }

  /// Returns a value with the mark of its schema, if its key has one.
  func marked(_ encoded: EncodedValue, for key: KeyName) -> EncodedValue {
    schema?[key].map { marked(encoded, by: $0) } ?? encoded
  }

  private func marked(_ encoded: EncodedValue, by schema: DeclaredSchema) -> EncodedValue {
    EncodedValue(encoded.data, schema.mark.merging(encoded.attributes))
  }

  private func require<T>(_ type: T.Type, as schema: DeclaredSchema, for key: KeyName) throws {
    guard type != schema.type else { return }
    throw StorageError(
      .unsupported, "The schema '\(schema.name)' declares values of type \(schema.type), not \(type).",
      advice: "Use the declared type. Nothing was changed.", location: location, key: key)
  }

  func bytes<T: Encodable>(of value: T, for key: KeyName) throws -> Data {
    do { return try plainBytes(of: value) } catch { throw encodingFailed(T.self, error, for: key) }
  }

  private func plainBytes<T: Encodable>(of value: T) throws -> Data {
    if !encodesAllTypes, T.self == Data.self, let data = value as? Data { return data }
    if !encodesAllTypes, T.self == String.self, let text = value as? String { return Data(text.utf8) }
    return try codec.encode(value)
  }

  private func encodingFailed<T>(_ type: T.Type, _ error: any Error, for key: KeyName) -> StorageError {
    StorageError(
      .encodingFailed, "A value of type \(type) could not be encoded.", advice: "Nothing was written.",
      location: location, key: key, underlying: Self.describe(error))
  }
}

extension ByteCoding {
  /// Describes a coder's error without its own message, which may quote the value.
  private static func describe(_ error: any Error) -> StorageError.Underlying {
    let domain = String(describing: type(of: error))
    let text: String
    switch error {
    case DecodingError.typeMismatch(let type, let context): text = "expected \(type) at \(path(context.codingPath))"
    case DecodingError.valueNotFound(let type, let context): text = "no \(type) at \(path(context.codingPath))"
    case DecodingError.keyNotFound(let key, let context): text = "nothing at \(path(context.codingPath + [key]))"
    case DecodingError.dataCorrupted(let context): text = "malformed at \(path(context.codingPath))"
    case EncodingError.invalidValue(_, let context): text = "invalid value at \(path(context.codingPath))"
    default: text = "details withheld: they may quote the value"
    }
    return .init(domain: domain, code: 0, text: text)
  }

  /// Formats a coding path without the keys of dictionaries, which are data.
  private static func path(_ keys: [any CodingKey]) -> String {
    let steps = keys.map { key in
      if let index = key.intValue { return "[\(index)]" }
      return Mirror(reflecting: key).displayStyle == .enum ? ".\(key.stringValue)" : ".*"
    }
    return "$" + steps.joined()
  }
}
