public import CofferCore
public import Foundation

/// How another library has encoded the bytes of a value that `StorageEngine.takeOver(from:options:)` reads.
public enum LegacyEncoding: String, CaseIterable, Hashable, Sendable {
  /// The bytes are the value.
  case bytes
  /// The output of `JSONEncoder`: also a string is in quotation marks, and `Data` is base64.
  case json
  /// JSON of an object with a `transactionID` and a base64 `value`, whose bytes are the value; or the same object as a
  /// JSON string in base64, as in a keychain.
  case storedObject = "stored-object"
  /// As ``storedObject``, and the bytes inside are JSON again, as a property wrapper stores them.
  case storedJSON = "stored-json"
}

/// A value that was taken from an origin and decoded.
package struct LegacyValue: Sendable {
  package var data: Data
  package var attributes: ValueAttributes = .none
}

/// The reason why a value of an origin cannot be read, as a lower-case clause without any byte of it.
package struct LegacyFailure: Error {
  let reason: String
}

extension LegacyEncoding {
  private struct StoredObject: Decodable {
    let value: Data
    let transactionID: UUID
  }

  /// Returns the value that the bytes encode.
  package func decode(_ data: Data) throws(LegacyFailure) -> LegacyValue {
    switch self {
    case .bytes: return LegacyValue(data: data)
    case .json: return try Self.json(data)
    case .storedObject, .storedJSON:
      let object = try Self.unwrap(data)
      var value = self == .storedJSON ? try Self.json(object.value) : LegacyValue(data: object.value)
      value.attributes[.legacyTransaction] = object.transactionID.uuidString
      return value
    }
  }

  private static func unwrap(_ data: Data) throws(LegacyFailure) -> StoredObject {
    // In a keychain, the object is encoded once more.
    let data = (try? JSONDecoder().decode(Data.self, from: data)) ?? data
    guard let object = try? JSONDecoder().decode(StoredObject.self, from: data) else {
      throw LegacyFailure(reason: "it is not an object with a value and a transaction id")
    }
    return object
  }

  /// Keeps the JSON as it is, which typed reads decode. Only a JSON string is ambiguous: it may have been a `String`, a
  /// `Data` in base64, or any other type that encodes itself as a string. The attribute lets the reader decide.
  private static func json(_ data: Data) throws(LegacyFailure) -> LegacyValue {
    guard String(validating: data, as: UTF8.self) != nil else { throw LegacyFailure(reason: "it is not UTF-8") }
    if (try? JSONDecoder().decode(String.self, from: data)) != nil {
      var attributes = ValueAttributes.none
      attributes[.legacyEncoding] = ValueAttributes.jsonText
      return LegacyValue(data: data, attributes: attributes)
    }
    guard (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil else {
      throw LegacyFailure(reason: "it is not JSON; it may be truncated")
    }
    return LegacyValue(data: data)
  }
}

extension ValueAttribute<String> {
  /// The transaction id that the original of a value had.
  static let legacyTransaction = ValueAttribute(code: 11)
}

extension ValueAttributes {
  /// The transaction id under which another library had stored a value that was taken over from a
  /// ``LegacyEncoding/storedObject``, until the key is written again; `nil` for other values.
  public var legacyTransaction: TransactionID? { self[.legacyTransaction].flatMap { UUID(uuidString: $0) } }

  /// The value of the attribute `legacyEncoding` for a JSON string, which `String` and `Data` must be decoded from.
  static let jsonText: UInt8 = 1
}

extension EncodedValue {
  /// Returns the text or bytes that another library has encoded as a JSON string, or `nil` for any other value, whose
  /// bytes are what Coffer itself stores.
  func legacyValue<T>(_ type: T.Type) throws -> T? {
    guard !attributes.isEmpty, type == String.self || type == Data.self,
      let encoding = attributes[.legacyEncoding]
    else { return nil }
    guard encoding != ValueAttributes.plainBytes else { return nil }
    guard encoding == ValueAttributes.jsonText else {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "an unknown encoding"))
    }
    if type == String.self { return try JSONDecoder().decode(String.self, from: data) as? T }
    return try JSONDecoder().decode(Data.self, from: data) as? T
  }
}
