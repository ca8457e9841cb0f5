public import Foundation

/// A type that encodes values as bytes and decodes them.
///
/// ``TypedStore`` uses its codec for every type except `Data` and `String`, whose bytes are stored as they are. Write a
/// custom codec when other programs read the bytes too:
///
/// ```swift
/// struct MilliJSON: StoreCodec {
///   func encode<T: Encodable>(_ value: T) throws -> Data {
///     let encoder = JSONEncoder()
///     encoder.dateEncodingStrategy = .millisecondsSince1970
///     return try encoder.encode(value)
///   }
///   func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
///     let decoder = JSONDecoder()
///     decoder.dateDecodingStrategy = .millisecondsSince1970
///     return try decoder.decode(type, from: data)
///   }
/// }
/// ```
///
/// The methods of a codec may be called by several tasks concurrently.
public protocol StoreCodec: Sendable {
  /// Returns a value as bytes.
  /// - Throws: Any error. It becomes a `StorageError` with code `encodingFailed`.
  func encode<T: Encodable>(_ value: T) throws -> Data
  /// Returns the value that bytes encode.
  /// - Throws: Any error. It becomes a `StorageError` with code `decodingFailed`.
  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

/// A codec that stores values as JSON; the default of ``TypedStore``.
public struct JSONCodec: StoreCodec {
  private let encoder: JSONEncoder
  private let decoder: JSONDecoder

  /// Creates a codec with the default coders of Foundation.
  /// - Parameter sortedKeys: whether objects are encoded with sorted keys, so that equal values have equal bytes.
  ///   Sorting takes some time per object.
  public init(sortedKeys: Bool = false) {
    encoder = JSONEncoder()
    decoder = JSONDecoder()
    if sortedKeys { encoder.outputFormatting = .sortedKeys }
  }

  /// Creates a codec with custom coders. Do not change the coders afterwards.
  public init(encoder: JSONEncoder, decoder: JSONDecoder) {
    self.encoder = encoder
    self.decoder = decoder
  }

  public func encode<T: Encodable>(_ value: T) throws -> Data { try encoder.encode(value) }
  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { try decoder.decode(type, from: data) }
}

/// A codec that stores values as binary property lists, which are smaller than JSON for dates and bytes.
///
/// Each value is stored as the only element of an array, since a property list cannot be a bare number or string.
public struct PropertyListCodec: StoreCodec {
  private let encoder: PropertyListEncoder
  private let decoder = PropertyListDecoder()

  /// Creates a codec for binary property lists.
  public init() {
    encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
  }

  public func encode<T: Encodable>(_ value: T) throws -> Data { try encoder.encode([value]) }

  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    let values = try decoder.decode([T].self, from: data)
    guard values.count == 1, let value = values.first else {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "Not an array of one element."))
    }
    return value
  }
}
