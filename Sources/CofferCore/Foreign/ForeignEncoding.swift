public import Foundation

/// The form in which another program has stored a value, as far as its bytes show it.
///
/// ```swift
/// ForeignEncoding(recognizing: Data(#""John""#.utf8))   // .jsonText
/// ```
public enum ForeignEncoding: String, Sendable, Hashable, CaseIterable {
  /// A JSON object that wraps the value in base64 beside a transaction id.
  case storedObject
  /// JSON text, as `JSONEncoder` writes it. Strings have quotes in it, and `Data` is base64.
  case jsonText
  /// Base64 text.
  case base64
  /// A property list, binary or XML.
  case propertyList
  /// An SQLite database.
  case database
  /// Any other bytes.
  case plain

  /// Recognizes the form of a value.
  /// - Parameters:
  ///   - bytes: the value, or its first bytes.
  ///   - isWhole: whether `bytes` is the whole value. The beginning of a value is judged by its first characters.
  public init(recognizing bytes: Data, isWhole: Bool = true) {
    if bytes.starts(with: Array("SQLite format 3\u{0}".utf8)) {
      self = .database
    } else if Self.isPropertyList(bytes) {
      self = .propertyList
    } else if isWhole ? Self.isStoredObject(bytes) : Self.beginsStoredObject(bytes) {
      self = .storedObject
    } else if isWhole ? Self.isJSON(bytes) : Self.beginsJSON(bytes) {
      self = .jsonText
    } else if Self.isBase64(bytes, isWhole: isWhole) {
      self = .base64
    } else {
      self = .plain
    }
  }

  /// The name of the form, as a noun phrase for use inside a sentence.
  public var title: String {
    switch self {
    case .storedObject: "JSON objects with a transaction id (StoredObject)"
    case .jsonText: "JSON text"
    case .base64: "base64 text"
    case .propertyList: "property lists"
    case .database: "SQLite databases"
    case .plain: "plain bytes"
    }
  }

  private struct StoredObject: Decodable {
    let value: Data
    let transactionID: UUID
  }

  /// Any JSON value: the decoder has parsed the text when it calls `init(from:)`.
  private struct AnyJSON: Decodable {
    init(from decoder: any Decoder) {}
  }

  /// Whether a whole value is a JSON object that wraps another value beside a transaction id.
  package static func isStoredObject(_ bytes: Data) -> Bool {
    first(of: bytes) == UInt8(ascii: "{") && bytes.range(of: Data("\"transactionID\"".utf8)) != nil
      && (try? JSONDecoder().decode(StoredObject.self, from: bytes)) != nil
  }

  private static func beginsStoredObject(_ bytes: Data) -> Bool {
    // The keys are sorted.
    bytes.starts(with: Array(#"{"transactionID":""#.utf8))
  }

  private static func isJSON(_ bytes: Data) -> Bool {
    first(of: bytes) != nil && (try? JSONDecoder().decode(AnyJSON.self, from: bytes)) != nil
  }

  private static func beginsJSON(_ bytes: Data) -> Bool {
    first(of: bytes).map { [UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\"")].contains($0) } ?? false
  }

  private static func first(of bytes: Data) -> UInt8? { bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } }

  private static func isPropertyList(_ bytes: Data) -> Bool {
    guard !bytes.starts(with: Array("bplist0".utf8)) else { return true }
    let head = bytes.prefix(512)
    return first(of: head) == UInt8(ascii: "<") && head.range(of: Data("<plist".utf8)) != nil
  }

  /// Whether the bytes are base64 that is no word: with padding, or long.
  private static func isBase64(_ bytes: Data, isWhole: Bool) -> Bool {
    let digits = bytes.filter { $0 != 0x0A && $0 != 0x0D }
    guard digits.count >= 4, digits.count >= 24 || digits.last == UInt8(ascii: "=") else { return false }
    let whole = isWhole ? digits : digits.prefix(digits.count & ~3)
    return Data(base64Encoded: whole) != nil
  }
}
