/// A value of some type that can be coded, for payloads of mixed types (document 4).
///
/// ```swift
/// let payload: [String: AnyCodable] = ["name": "Ann", "age": 31, "tags": ["a", "b"], "boss": nil]
/// let json = try JSONEncoder().encode(payload)
/// ```
///
/// It holds what JSON has: nothing, yes or no, numbers, text, lists and dictionaries. Whole numbers stay exact. Dates
/// and bytes are to be coded as one of these.
public enum AnyCodable: Hashable, Sendable {
  /// Nothing.
  case null
  /// Yes or no.
  case boolean(Bool)
  /// A whole number.
  case integer(Int64)
  /// A whole number that is too large for ``integer(_:)``.
  case unsigned(UInt64)
  /// Any other number.
  case number(Double)
  /// Text.
  case string(String)
  /// Several values.
  case array([AnyCodable])
  /// Values with names.
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

extension AnyCodable: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: AnyCodable...) { self = .array(elements) }

  /// The last one wins where a name is given twice.
  public init(dictionaryLiteral elements: (String, AnyCodable)...) {
    self = .dictionary(Dictionary(elements) { _, last in last })
  }
}
