import CofferCore

/// A type whose values `AnyCodable(_:)` accepts. Conform a type of an application to it to pass its values, too.
public protocol AnyCodableConvertible {
  /// The value as JSON knows it.
  var anyCodable: AnyCodable { get }
}

extension AnyCodable {
  /// Creates a value from a variable of a type that JSON knows: a Boolean, a number, a string, or an array, dictionary
  /// or optional of them.
  ///
  /// ```swift
  /// let age = 31, tags = ["a", "b"]
  /// let payload: [String: AnyCodable] = ["age": AnyCodable(age), "tags": AnyCodable(tags)]
  /// ```
  public init(_ value: some AnyCodableConvertible) { self = value.anyCodable }

  /// Creates a value from a variable whose type is not known when the code is compiled.
  /// - Throws: `StorageError` with code `encodingFailed` for a type that does not conform to ``AnyCodableConvertible``.
  public init(_ value: Any) throws {
    switch value {
    case let value as any AnyCodableConvertible: self = value.anyCodable
    case let values as [Any]: self = .array(try values.map { try AnyCodable($0) })
    case let values as [String: Any]: self = .dictionary(try values.mapValues { try AnyCodable($0) })
    default:
      throw StorageError(
        .encodingFailed, "A value of type \(type(of: value)) is none of the types that JSON knows.",
        advice: "Convert it to a number, a string, an array or a dictionary, or conform it to AnyCodableConvertible.")
    }
  }
}

extension AnyCodable: AnyCodableConvertible {
  public var anyCodable: AnyCodable { self }
}

extension Bool: AnyCodableConvertible {
  public var anyCodable: AnyCodable { .boolean(self) }
}

extension String: AnyCodableConvertible {
  public var anyCodable: AnyCodable { .string(self) }
}

extension Double: AnyCodableConvertible {
  public var anyCodable: AnyCodable { .number(self) }
}

extension Float: AnyCodableConvertible {
  /// The number with the decimal digits that describe this `Float`, such as 0.1 instead of 0.10000000149011612.
  public var anyCodable: AnyCodable { .number(Double(description) ?? Double(self)) }
}

extension BinaryInteger {
  /// The integer, exact if it has at most 64 bits.
  public var anyCodable: AnyCodable {
    if let value = Int64(exactly: self) { return .integer(value) }
    if let value = UInt64(exactly: self) { return .unsigned(value) }
    return .number(Double(self))
  }
}

extension Int: AnyCodableConvertible {}
extension Int8: AnyCodableConvertible {}
extension Int16: AnyCodableConvertible {}
extension Int32: AnyCodableConvertible {}
extension Int64: AnyCodableConvertible {}
extension UInt: AnyCodableConvertible {}
extension UInt8: AnyCodableConvertible {}
extension UInt16: AnyCodableConvertible {}
extension UInt32: AnyCodableConvertible {}
extension UInt64: AnyCodableConvertible {}

extension Optional: AnyCodableConvertible where Wrapped: AnyCodableConvertible {
  public var anyCodable: AnyCodable { map(\.anyCodable) ?? .null }
}

extension Array: AnyCodableConvertible where Element: AnyCodableConvertible {
  public var anyCodable: AnyCodable { .array(map(\.anyCodable)) }
}

extension Dictionary: AnyCodableConvertible where Key == String, Value: AnyCodableConvertible {
  public var anyCodable: AnyCodable { .dictionary(mapValues(\.anyCodable)) }
}
