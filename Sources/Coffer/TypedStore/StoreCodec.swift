public import Foundation

/// Turns values into bytes and back.
///
/// ``TypedStore`` asks its codec for every type but `Data` and `String`, whose bytes are stored as they are. Write
/// your own when other programs read the bytes too:
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
/// A codec may be used by many tasks at once.
public protocol StoreCodec: Sendable {
  /// The bytes of a value. Whatever it throws becomes a `StorageError` with code `encodingFailed`.
  func encode<T: Encodable>(_ value: T) throws -> Data
  /// The value of some bytes. Whatever it throws becomes a `StorageError` with code `decodingFailed`.
  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

/// Values as JSON, the default.
public struct JSONCodec: StoreCodec {
  private let encoder: JSONEncoder
  private let decoder: JSONDecoder

  /// Plain JSON.
  /// - Parameter sortedKeys: whether equal values always give equal bytes, which costs some time per object.
  public init(sortedKeys: Bool = false) {
    encoder = JSONEncoder()
    decoder = JSONDecoder()
    if sortedKeys { encoder.outputFormatting = .sortedKeys }
  }

  /// JSON with strategies of your own. Do not change the coders afterwards.
  public init(encoder: JSONEncoder, decoder: JSONDecoder) {
    self.encoder = encoder
    self.decoder = decoder
  }

  public func encode<T: Encodable>(_ value: T) throws -> Data { try encoder.encode(value) }
  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { try decoder.decode(type, from: data) }
}

/// Values as binary property lists: smaller than JSON for dates and bytes.
///
/// Each value is stored as the only element of an array, since a property list cannot be a bare number or string.
public struct PropertyListCodec: StoreCodec {
  private let encoder: PropertyListEncoder
  private let decoder = PropertyListDecoder()

  /// A codec for binary property lists.
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
