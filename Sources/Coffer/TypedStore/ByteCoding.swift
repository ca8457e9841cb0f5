package import Foundation

/// How values become bytes: raw bytes and text as they are, all else by the codec; failures as `StorageError`.
package struct ByteCoding: Sendable {
  let codec: any Codec
  let backend: String

  package init(codec: any Codec, backend: String) {
    self.codec = codec
    self.backend = backend
  }

  package func encode<T: Encodable>(_ value: T, for key: Key) throws -> Data {
    if T.self == Data.self, let data = value as? Data { return data }
    if T.self == String.self, let text = value as? String { return Data(text.utf8) }
    do {
      return try codec.encode(value)
    } catch {
      throw StorageError(
        .encodingFailed, "A value of type \(T.self) could not be encoded.", advice: "Nothing was written.",
        backend: backend, key: key, underlying: Self.describe(error))
    }
  }

  package func decode<T: Decodable>(_ type: T.Type, from data: Data, for key: Key) throws -> T {
    if type == Data.self, let raw = data as? T { return raw }
    if type == String.self {
      // Repairing changes the bytes whenever they were not UTF-8.
      let text = String(decoding: data, as: UTF8.self)
      guard Data(text.utf8) == data, let value = text as? T else { throw failure(type, key, nil) }
      return value
    }
    do {
      return try codec.decode(type, from: data)
    } catch {
      throw failure(type, key, Self.describe(error))
    }
  }

  private func failure<T>(_ type: T.Type, _ key: Key, _ underlying: StorageError.Underlying?) -> StorageError {
    StorageError(
      .decodingFailed, "The stored bytes could not be read as \(type).",
      advice: "They are kept; load them as Data to look at them.", backend: backend, key: key, underlying: underlying)
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
