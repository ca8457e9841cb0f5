public import Foundation

/// How a value becomes bytes, and under which name that is known (document 4).
///
/// ```swift
/// static let csv = Serializer<[String]>.custom(name: "csv") {
///   Data($0.joined(separator: ",").utf8)
/// } decode: {
///   String(decoding: $0, as: UTF8.self).split(separator: ",").map(String.init)
/// }
/// ```
public struct Serializer<Value: Sendable>: Sendable {
  /// What a report calls it.
  public let name: String
  @usableFromInline let encode: @Sendable (Value) throws -> Data
  @usableFromInline let decode: @Sendable (Data) throws -> Value

  @inlinable
  init(
    name: String, encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) {
    self.name = name
    self.encode = encode
    self.decode = decode
  }

  /// Functions of your own. What they throw becomes `encodingFailed` or `decodingFailed`, without its words, which may
  /// quote the value; bytes that cannot be decoded are kept.
  public static func custom(
    name: String, encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) -> Serializer {
    Serializer(name: name, encode: encode, decode: decode)
  }

  /// A codec, such as one with strategies of your own.
  @inlinable
  public static func codec(_ codec: any StoreCodec, name: String) -> Serializer where Value: Codable {
    Serializer(name: name) {
      try codec.encode($0)
    } decode: {
      try codec.decode(Value.self, from: $0)
    }
  }
}

extension Serializer where Value: Codable {
  /// JSON, with the names in their order, so that equal values have equal bytes.
  @inlinable public static var json: Serializer { codec(Coders.json, name: "JSON") }
  /// A binary property list.
  @inlinable public static var propertyList: Serializer { codec(Coders.propertyList, name: "property list") }
}

extension Serializer where Value == Data {
  /// The bytes as they are.
  public static var data: Serializer {
    Serializer(name: "data") {
      $0
    } decode: {
      $0
    }
  }
}

extension Serializer where Value == String {
  /// The text as its UTF-8 bytes.
  public static var text: Serializer {
    Serializer(name: "text") {
      Data($0.utf8)
    } decode: { bytes in
      guard let text = String(validating: bytes, as: UTF8.self) else { throw CocoaError(.coderReadCorrupt) }
      return text
    }
  }
}

/// Made once: a coder costs more than a small value.
@usableFromInline enum Coders {
  @usableFromInline static let json = JSONCodec(sortedKeys: true)
  @usableFromInline static let propertyList = PropertyListCodec()
}
