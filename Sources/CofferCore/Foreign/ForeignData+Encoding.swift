public import Foundation

extension ForeignData {
  /// The form in which another program has stored a value, as far as its bytes show it.
  ///
  /// ```swift
  /// ForeignData.Encoding(recognizing: Data(#""John""#.utf8))   // .jsonText
  /// ```
  public enum Encoding: String, Sendable, Hashable, CaseIterable {
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
      let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
      if bytes.starts(with: Array("SQLite format 3\u{0}".utf8)) {
        self = .database
      } else if bytes.starts(with: Array("bplist0".utf8))
        || first == UInt8(ascii: "<") && bytes.prefix(512).range(of: Data("<plist".utf8)) != nil
      {
        self = .propertyList
      } else if !isWhole, let first, "{[\"".utf8.contains(first) {
        // The keys of an object are sorted.
        self = bytes.starts(with: Array(#"{"transactionID":""#.utf8)) ? .storedObject : .jsonText
      } else if isWhole, (try? JSONDecoder().decode(StoredObject.self, from: bytes)) != nil {
        self = .storedObject
      } else if isWhole, (try? JSONDecoder().decode(AnyJSON.self, from: bytes)) != nil {
        self = .jsonText
      } else {
        self = Self.isBase64(bytes, isWhole: isWhole) ? .base64 : .plain
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

    /// Whether the bytes are base64 that is no word: with padding, or long.
    private static func isBase64(_ bytes: Data, isWhole: Bool) -> Bool {
      let digits = bytes.filter { $0 != 0x0A && $0 != 0x0D }
      guard digits.count >= 4, digits.count >= 24 || digits.last == UInt8(ascii: "=") else { return false }
      let whole = isWhole ? digits : digits.prefix(digits.count & ~3)
      return Data(base64Encoded: whole) != nil
    }
  }
}
