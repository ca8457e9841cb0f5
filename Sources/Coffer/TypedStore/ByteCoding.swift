package import Foundation

/// How values become bytes: raw bytes and text as they are, all else by the codec; failures as `StorageError`.
package struct ByteCoding: Sendable {
  let codec: any StoreCodec
  let backend: String

  package init(codec: any StoreCodec, backend: String) {
    self.codec = codec
    self.backend = backend
  }

  package func encode<T: Encodable>(_ value: T, for key: StoreKey) throws -> Data {
    if T.self == Data.self, let data = value as? Data { return data }
    if T.self == String.self, let text = value as? String { return Data(text.utf8) }
    do {
      return try codec.encode(value)
    } catch {
      throw Self.encodingFailed(T.self, error, backend: backend, key: key)
    }
  }

  package func decode<T: Decodable>(_ type: T.Type, from data: Data, for key: StoreKey) throws -> T {
    if type == Data.self, let raw = data as? T { return raw }
    if type == String.self {
      // Repairing changes the bytes whenever they were not UTF-8.
      let text = String(decoding: data, as: UTF8.self)
      guard Data(text.utf8) == data, let value = text as? T else {
        throw Self.decodingFailed(type, nil, backend: backend, key: key)
      }
      return value
    }
    do {
      return try codec.decode(type, from: data)
    } catch {
      throw Self.decodingFailed(type, error, backend: backend, key: key)
    }
  }

  static func encodingFailed<T>(_ type: T.Type, _ error: any Error, backend: String, key: StoreKey) -> StorageError {
    StorageError(
      .encodingFailed, "A value of type \(type) could not be encoded.", advice: "Nothing was written.",
      backend: backend, key: key, underlying: describe(error))
  }

  static func decodingFailed<T>(
    _ type: T.Type, _ error: (any Error)?, backend: String, key: StoreKey,
    advice: String = "They are kept; load them as Data to look at them."
  ) -> StorageError {
    StorageError(
      .decodingFailed, "The stored bytes could not be read as \(type).", advice: advice, backend: backend, key: key,
      underlying: error.map(describe))
  }
}

extension ByteCoding {
  /// What a coder said, without its own words: those may quote the value.
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

  /// A coding path without the keys of dictionaries, which are data.
  private static func path(_ keys: [any CodingKey]) -> String {
    let steps = keys.map { key in
      if let index = key.intValue { return "[\(index)]" }
      return Mirror(reflecting: key).displayStyle == .enum ? ".\(key.stringValue)" : ".*"
    }
    return "$" + steps.joined()
  }
}
