import Foundation

/// A type-erased value that can be encoded and decoded, for payloads of mixed types.
///
/// ```swift
/// let payload: [String: AnyCodable] = ["name": "Ann", "age": 31, "tags": ["a", "b"], "boss": nil]
/// let json = try JSONEncoder().encode(payload)
/// ```
///
/// Its cases are those of JSON: null, booleans, numbers, strings, arrays and dictionaries. Integers stay exact. Encode
/// dates and bytes as one of these.
public enum AnyCodable: Hashable, Sendable {
  /// A null value.
  case null
  /// A Boolean value.
  case boolean(Bool)
  /// An integer in the range of `Int64`.
  case integer(Int64)
  /// An integer that is too large for ``integer(_:)``.
  case unsigned(UInt64)
  /// A number that is not an integer, or is outside of the range of 64-bit integers.
  case number(Double)
  /// A string.
  case string(String)
  /// An array of values.
  case array([AnyCodable])
  /// A dictionary of values.
  case dictionary([String: AnyCodable])
}

extension AnyCodable: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .unsigned(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([AnyCodable].self) {
      self = .array(value)
    } else {
      self = .dictionary(try container.decode([String: AnyCodable].self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .boolean(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .dictionary(let values): try container.encode(values)
    }
  }
}

extension AnyCodable {
  /// Creates a value from a variable, as JSON has it.
  ///
  /// ```swift
  /// let age = 31, tags = ["a", "b"]
  /// let payload: [String: AnyCodable] = ["age": try AnyCodable(age), "tags": try AnyCodable(tags)]
  /// ```
  /// - Throws: the error of the encoder, as for a number that is not finite.
  public init(_ value: some Encodable) throws {
    self = try JSONDecoder().decode(AnyCodable.self, from: try JSONEncoder().encode(value))
  }
}

extension AnyCodable: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: AnyCodable...) { self = .array(elements) }

  /// Creates a dictionary. If a name occurs twice, the last value wins.
  public init(dictionaryLiteral elements: (String, AnyCodable)...) {
    self = .dictionary(Dictionary(elements) { _, last in last })
  }
}
