import CofferCore
package import Foundation

extension Import {
  /// How another library has encoded the bytes of a value that `StorageEngine.import(from:options:)` reads.
  ///
  /// JSON does not say whether a string was text, the bytes of `Data` or a value of another type; the encoding does. It
  /// is chosen for each run, and ``Import/Options/key`` chooses the values of the run.
  public enum Encoding: String, CaseIterable, Hashable, Sendable {
    /// The bytes are the value, such as JSON of any type but `String` and `Data`.
    case bytes
    /// The output of `JSONEncoder`: a string is stored as the text that it encodes, any other JSON as it is.
    case json
    /// The output of `JSONEncoder` for `Data`: a string in base64, which is stored as the bytes that it encodes.
    case jsonData = "json-data"
    /// JSON of an object with a `transactionID` and a base64 `value`, whose bytes are the value; or the same object as
    /// a JSON string in base64, as in a keychain.
    case storedObject = "stored-object"
    /// As ``storedObject``, and the bytes inside are ``json``, as a property wrapper stores them.
    case storedJSON = "stored-json"
    /// As ``storedObject``, and the bytes inside are ``jsonData``.
    case storedData = "stored-data"
  }
}

/// The reason why a value of an origin cannot be read, as a lower-case clause without any byte of it.
package struct ImportFailure: Error {
  let reason: String
}

extension Import.Encoding {
  private struct StoredObject: Decodable {
    let value: Data
    let transactionID: UUID
  }

  /// Returns the value that the bytes encode.
  package func decode(_ data: Data) throws(ImportFailure) -> Data {
    switch self {
    case .bytes: data
    case .json: try Self.json(data)
    case .jsonData: try Self.bytes(data)
    case .storedObject: try Self.unwrap(data)
    case .storedJSON: try Self.json(Self.unwrap(data))
    case .storedData: try Self.bytes(Self.unwrap(data))
    }
  }

  private static func unwrap(_ data: Data) throws(ImportFailure) -> Data {
    // In a keychain, the object is encoded once more.
    let data = (try? JSONDecoder().decode(Data.self, from: data)) ?? data
    guard let object = try? JSONDecoder().decode(StoredObject.self, from: data) else {
      throw ImportFailure(reason: "it is not an object with a value and a transaction id")
    }
    return object.value
  }

  private static func json(_ data: Data) throws(ImportFailure) -> Data {
    guard String(validating: data, as: UTF8.self) != nil else { throw ImportFailure(reason: "it is not UTF-8") }
    if let text = try? JSONDecoder().decode(String.self, from: data) { return Data(text.utf8) }
    guard (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil else {
      throw ImportFailure(reason: "it is not JSON; it may be truncated")
    }
    return data
  }

  private static func bytes(_ data: Data) throws(ImportFailure) -> Data {
    guard let bytes = try? JSONDecoder().decode(Data.self, from: data) else {
      throw ImportFailure(reason: "it is not a JSON string in base64")
    }
    return bytes
  }
}
