import Coffer
public import Foundation

/// A pair of functions that encode a value as bytes and decode it, with a name for reports.
///
/// ```swift
/// static let csv = Serializer<[String]>.custom(name: "csv") {
///   Data($0.joined(separator: ",").utf8)
/// } decode: {
///   String(decoding: $0, as: UTF8.self).split(separator: ",").map(String.init)
/// }
/// ```
public struct Serializer<Value: Sendable>: Sendable {
  /// The name of the serializer in reports.
  public let name: String
  /// Whether values are stored in preferences with their property list type if they have one.
  @usableFromInline let isNative: Bool
  @usableFromInline let encode: @Sendable (Value) throws -> Data
  @usableFromInline let decode: @Sendable (Data) throws -> Value
  /// The codec, by which values of other types are read too; `nil` for functions of the type alone.
  @usableFromInline let codec: (any StoreCodec)?

  @inlinable
  package init(
    name: String, isNative: Bool = false, codec: (any StoreCodec)? = nil,
    encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) {
    self.name = name
    self.isNative = isNative
    self.codec = codec
    self.encode = encode
    self.decode = decode
  }

  /// Returns a serializer with custom functions. Their errors become `encodingFailed` or `decodingFailed`, without
  /// their messages, which may quote the value. Bytes that cannot be decoded are kept.
  public static func custom(
    name: String, encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) -> Serializer {
    Serializer(name: name, encode: encode, decode: decode)
  }

  /// Returns a serializer that uses a codec, for example one with custom coding strategies.
  @inlinable
  public static func codec(_ codec: any StoreCodec, name: String) -> Serializer where Value: Codable {
    self.codec(codec, name: name, isNative: false)
  }

  @inlinable
  package static func codec(_ codec: any StoreCodec, name: String, isNative: Bool) -> Serializer where Value: Codable {
    Serializer(name: name, isNative: isNative, codec: codec) {
      try codec.encode($0)
    } decode: {
      try codec.decode(Value.self, from: $0)
    }
  }
}

extension Serializer where Value: Codable {
  /// JSON with sorted keys, so that equal values have equal bytes. In preferences, a value of a type that
  /// `UserDefaults` knows is stored with that type instead: texts, Booleans, numbers, dates, bytes, URLs,
  /// raw-representable values, and arrays and dictionaries of them.
  @inlinable public static var json: Serializer { codec(Coders.json, name: "JSON", isNative: true) }
  /// A binary property list.
  @inlinable public static var propertyList: Serializer { codec(Coders.propertyList, name: "property list") }
}

extension Serializer where Value == Data {
  /// The bytes as they are.
  public static var data: Serializer {
    Serializer(name: "data", isNative: true) {
      $0
    } decode: {
      $0
    }
  }
}

extension Serializer where Value == String {
  /// The text as its UTF-8 bytes.
  public static var text: Serializer {
    Serializer(name: "text", isNative: true) {
      Data($0.utf8)
    } decode: { bytes in
      guard let text = String(validating: bytes, as: UTF8.self) else { throw CocoaError(.coderReadCorrupt) }
      return text
    }
  }
}

/// Shared coders: creating one costs more than encoding a small value.
@usableFromInline enum Coders {
  @usableFromInline static let json = JSONCodec(sortedKeys: true)
  @usableFromInline static let propertyList = PropertyListCodec()
}
